"""Which models are told apart, and how sure a ranking is: pairs, tiers, modes against each other, other weights.

`compare` makes all of it as analyses that every renderer draws; `pairs` and `tiers_of` are its parts for other tables
and figures. Studies in, arrays and tables out: reads no file, draws nothing.
"""

from attunebench.comparison.pairing import PairTable, pairs
from attunebench.comparison.ranking import Ranking, tiers_of

__all__ = ["PairTable", "Ranking", "pairs", "tiers_of"]
