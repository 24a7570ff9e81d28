"""Which models differ significantly, and how certain a ranking is: pairs, tiers, modes, other weights.

`compare` makes all of it as analyses that every renderer draws; `pairs`, `tiers_of` and `weight_effects` are its parts.
Reads no file, draws nothing.
"""

from attunebench.comparison.comparing import DEFAULT_METRICS, Comparison, compare
from attunebench.comparison.pairing import PairTable, pairs
from attunebench.comparison.ranking import Ranking, tiers_of, weight_effects

__all__ = [
    "DEFAULT_METRICS",
    "Comparison",
    "PairTable",
    "Ranking",
    "compare",
    "pairs",
    "tiers_of",
    "weight_effects",
]
