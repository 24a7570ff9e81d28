"""Which models are told apart, and how sure a ranking is: pairs, tiers, modes against each other, other weights.

`compare` makes all of it as analyses that every renderer draws; `pairs`, `tiers_of`, `mode_effects` and
`weight_effects` are its parts, for other tables and figures. Studies in, arrays and tables out: reads no file, draws
nothing.
"""

from attunebench.comparison.comparing import DEFAULT_METRICS, Comparison, compare
from attunebench.comparison.pairing import ModeEffects, PairTable, mode_effects, pairs
from attunebench.comparison.ranking import Ranking, tiers_of, weight_effects

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
