"""Whether the scored part of a set is a beginning of a run's order, and thus a fair sample of it. Pure.

Claims nothing where that is not certain: results of different orders, of an unknown one, or of another set.
"""

from __future__ import annotations

from collections.abc import Sequence

from attunebench.results.schema import RunOrder
from attunebench.scores import Sample


def sample_of(orders: Sequence[RunOrder | None], expected: int) -> Sample | None:
    """The beginning of the order that these results reach into, one for each scored conversation of `expected`.

    None where all is scored, and where the results are not of one order of just so many conversations.
    """
    known = [order for order in orders if order is not None]
    if not 0 < len(known) == len(orders) < expected:
        return None
    if len({(order.seed, order.of) for order in known}) > 1 or known[0].of != expected:
        return None
    if len({order.position for order in known}) < len(known):  # results of sets that are not the same
        return None
    return {"seed": known[0].seed, "reached": max(order.position for order in known) + 1, "of": expected}
