"""Everything that scores hold about one model in one mode: looked up and summed, compared with nobody.

Pure: a study in, analyses out. Where a result file lies on this disk is for the caller to say.
"""

from attunebench.analyses.stats.looking_up import as_named, model_stats
from attunebench.analyses.stats.metrics import Files, Locate

__all__ = ["Files", "Locate", "as_named", "model_stats"]
