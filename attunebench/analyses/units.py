"""What is taken as independent: conversations, or the people whom they are of; and the words that warn.

Knows whose conversation each is, and no score.
"""

from __future__ import annotations

import numpy as np

from attunebench.analyses.model import Settings
from attunebench.scores.table import ScoreTable


def shared_people_text(study: ScoreTable, settings: Settings) -> str:
    """That people have several conversations, which the settings take as independent; "" where neither is so."""
    counts = np.bincount(study.clusters) if len(study.ids) else np.zeros(0, dtype=np.intp)
    several = int((counts > 1).sum())
    if settings.by_participant or not several:
        return ""
    return (
        f"{several} of {len(counts)} participants {'has' if several == 1 else 'have'} several conversations, taken as "
        "independent here. If a person's conversations are alike, intervals are too narrow and p too small: "
        "`--cluster participant` makes the participant the unit."
    )
