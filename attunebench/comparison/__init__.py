"""Which models are told apart, and how sure a ranking is: pairs, tiers, modes against each other, other weights.

`compare` makes all of it as analyses that every renderer draws; `pairs`, `tiers_of`, `mode_effects` and
`weight_effects` are its parts, for other tables and figures. Studies in, arrays and tables out: reads no file, draws
nothing.
"""

from attunebench.comparison.comparing import DEFAULT_METRICS, Comparison, compare
from attunebench.comparison.modes import ModeEffects, mode_effects
from attunebench.comparison.pairing import PairTable, pairs
from attunebench.comparison.ranking import Ranking, tiers_of
from attunebench.comparison.weights import weight_effects

__all__ = [
    "DEFAULT_METRICS",
    "Comparison",
    "ModeEffects",
    "PairTable",
    "Ranking",
    "compare",
    "mode_effects",
    "pairs",
    "tiers_of",
    "weight_effects",
]
