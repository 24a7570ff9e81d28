"""How a ranking by the Composite moves when the weights of its pillars move. Arrays only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from attunebench.analyses.model import Settings
from attunebench.comparison.ranking import in_common
from attunebench.metrics.composite import PILLAR_WEIGHTS
from attunebench.scores.table import ScoreTable
from attunebench.statistics.ranks import WeightSensitivity, weight_sensitivity


def weight_effects(study: ScoreTable, settings: Settings | None = None) -> WeightSensitivity:
    """Ranks of the study's groups under weights near the published ones, and under any weights at all.

    From the means of the pillars over the conversations that were scored for every group; of these, for each group
    those in which it has all pillars, as the Composite does.
    """
    settings = settings or Settings()
    common = study.with_conversations(in_common(study))
    cube = np.stack([common.values(pillar) for pillar in PILLAR_WEIGHTS], axis=-1)
    complete: NDArray[np.bool_] = np.asarray(~np.isnan(cube).any(axis=-1))
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(complete[..., None], cube, 0.0).sum(axis=0) / complete.sum(axis=0)[:, None]
    return weight_sensitivity(
        means, list(PILLAR_WEIGHTS.values()), rng=settings.rng("weights"), draws=settings.resamples
    )
