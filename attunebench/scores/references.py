"""When a reference is one: a base rate below blind guessing is not, since to be above it shows nothing.

Leaving a conversation out tips an even split against what is predicted for it, so that over few conversations a base
rate can fall below chance.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from attunebench.metrics.registry import below_chance, no_reference
from attunebench.scores.table import ReferenceValues


def standing(reference: ReferenceValues) -> ReferenceValues:
    """The reference without the metrics on which it is below chance over its conversations; its meaning says why."""
    means = {m: float(np.nanmean(v)) for m, v in reference.values.items() if not np.isnan(v).all()}
    below = [metric_id for metric_id, mean in means.items() if below_chance(metric_id, mean)]
    if not below:
        return reference
    kept = {metric_id: values for metric_id, values in reference.values.items() if metric_id not in below}
    return replace(reference, values=kept, meaning=f"{reference.meaning} {no_reference(below)}".strip())
