"""Means over models that were not all scored on the same conversations, and the note that says so.

Knows arrays alone: rows are whatever was answered about (conversations, turns), columns are models.
"""

from __future__ import annotations

import numpy as np

from attunebench.analyses.sampling import mean_over_models
from attunebench.statistics.bootstrap import Floats


def level_over_models(values: Floats) -> Floats:
    """Each row's mean over the models as if each of them had it: (rows,) from (rows, models); NaN without any.

    A row that a good model lacks is not a hard row, so where rows are compared with each other the plain mean would
    take who answered for how well. Least squares of row + model, the models' parts adding up to 0; without gaps it is
    the plain mean. Models that share no row, even through others, cannot be compared: their rows keep the mean.
    """
    defined = ~np.isnan(values)
    share = defined / np.maximum(defined.sum(axis=1, keepdims=True), 1)
    centred = np.where(defined, values - mean_over_models(values)[:, None], 0.0)
    system = np.diag(defined.sum(axis=0).astype(np.float64)) - defined.T.astype(np.float64) @ share
    parts = np.linalg.lstsq(system, centred.sum(axis=0), rcond=1e-9)[0]
    return mean_over_models(values - parts)


def coverage_text(values: Floats) -> str:
    """That rows which not all models have were made comparable, for notes; "" where all have all."""
    defined = ~np.isnan(values)
    if defined[defined.any(axis=1)][:, defined.any(axis=0)].all():
        return ""
    return (
        "Not every model was scored on every conversation: means over models are adjusted for it (least squares of "
        "conversation and model)."
    )
