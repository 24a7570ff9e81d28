"""Which groups a comparison is between, and whether there is enough to compare at all."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from attunebench.analyses.base import Settings
from attunebench.analyses.verdicts import counted
from attunebench.errors import DataError, UsageError
from attunebench.scores.table import ScoreTable

_LEAST = 2
"""Under so many conversations in common there is no spread, and so neither interval nor test."""


def chosen_groups(study: ScoreTable, settings: Settings, models: Sequence[str] = ()) -> ScoreTable:
    """The study with the groups to compare, and the conversations that any of them has.

    Without `models` these are all models (and baselines where the settings want them, or where there is nothing else);
    with `models` those named, by model, by label, or as provider/model, whatever they are. UsageError for a name or a
    mode that the scores do not hold.
    """
    if settings.mode is not None:
        study = study.of_mode(settings.mode)
    if models:
        spellings = {group: (group.model, group.label, f"{group.provider}/{group.model}") for group in study.groups}
        named = {group: {name.casefold() for name in names} for group, names in spellings.items()}
        wanted = [name.strip().casefold() for name in models]
        for name, folded in zip(models, wanted, strict=True):
            if not any(folded in names for names in named.values()):
                near = difflib.get_close_matches(name, [n for names in spellings.values() for n in names], 3, 0.5)
                labels = ", ".join(dict.fromkeys(study.labels))
                hint = f"Did you mean {' or '.join(dict.fromkeys(near))}?" if near else f"There is {labels}."
                raise UsageError(f"The scores contain no model {name!r}. {hint}")
        study = study.with_groups([group for group, names in named.items() if names.intersection(wanted)])
    else:
        study = study.models(baselines=settings.baselines)
    return study.with_conversations([study.ids[row] for row in np.flatnonzero(study.scored().any(axis=1))])


def refuse_too_little(study: ScoreTable, scored: ScoreTable) -> None:
    """UsageError where there is nothing to compare with, DataError where no two have conversations in common.

    `study` holds the groups that were chosen from all that are `scored`."""
    groups = study.groups
    if len(groups) < 2:
        names = ", ".join(f"{group.label} ({group.mode})" for group in groups) or "no model"
        others = dict.fromkeys(group.label for group in scored.groups if group.label not in study.labels)
        more = (
            f"The scores also hold {', '.join(others)}: choose with --models or --with-baselines."
            if others
            else "Add another scores file with -s, or run a baseline into the same results folder and score it again."
        )
        raise UsageError(f"There is only {names} to compare, and a comparison requires two. {more}")
    present = study.scored().astype(int)
    shared = [
        int((present.T @ present)[a, b])
        for a, b in combinations(range(len(groups)), 2)
        if groups[a].mode == groups[b].mode or groups[a].model_key == groups[b].model_key
    ]
    if not shared:
        raise UsageError("No two models share a mode, and no model has two modes. Score the models in the same mode.")
    if max(shared) < _LEAST:
        raise DataError(
            f"No two of the {len(groups)} have {_LEAST} conversations in common (at most "
            f"{counted(max(shared), 'conversation')}), so there is nothing to compare; score them on the same "
            "conversations."
        )
