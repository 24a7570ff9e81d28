"""Which groups a comparison is between, and whether there is enough to compare at all."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from attunebench.analyses.common import counted
from attunebench.analyses.model import Settings
from attunebench.errors import DataError, UsageError
from attunebench.scores.table import Group, ScoreTable

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
        wanted = {group for name in models for group in _named(study, name)}
        study = study.with_groups([group for group in study.groups if group in wanted])
    else:
        study = study.models(baselines=settings.baselines)
    return study.with_conversations([i for i, row in zip(study.ids, study.scored(), strict=True) if row.any()])


def refuse_too_little(study: ScoreTable) -> None:
    """UsageError where there is nobody to compare with, DataError where no two have conversations in common."""
    if len(study.groups) < 2:
        names = ", ".join(f"{group.label} ({group.mode})" for group in study.groups) or "no model"
        raise UsageError(
            f"The scores hold {names} to compare, and a comparison takes two; add another scores file with -s, or the "
            "built-in baselines with --with-baselines."
        )
    scored = study.scored().astype(int)
    shared = scored.T @ scored
    most, comparable = 0, False
    for a, one in enumerate(study.groups):
        for b, other in enumerate(study.groups[:a]):
            if one.mode == other.mode or one.model_key == other.model_key:
                comparable, most = True, max(most, int(shared[a, b]))
    if not comparable:
        raise UsageError("No two models share a mode, and no model has two; score the models in the same mode.")
    if most < _LEAST:
        raise DataError(
            f"No two of the {len(study.groups)} have {_LEAST} conversations in common (at most "
            f"{counted(most, 'conversation')}), so there is nothing to compare; score them on the same conversations."
        )


def _named(study: ScoreTable, name: str) -> list[Group]:
    wanted = name.strip().casefold()
    found = [group for group in study.groups if wanted in {spelling.casefold() for spelling in _spellings(group)}]
    if not found:
        known = list(dict.fromkeys(spelling for group in study.groups for spelling in _spellings(group)))
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
        labels = ", ".join(dict.fromkeys(group.label for group in study.groups))
        hint = f"Did you mean {' or '.join(near)}?" if near else f"There is {labels}."
        raise UsageError(f"The scores hold no model {name!r}. {hint}")
    return found


def _spellings(group: Group) -> tuple[str, ...]:
    return (group.model, group.label, f"{group.provider}/{group.model}")
