"""On which scale a run's judges rate where nobody says so: on that of the votes that its folder holds, which are paid
for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from attunebench.journal import Journal
from attunebench.journal.entries import json_object
from attunebench.judging import JUDGE_SCALE, JudgeScale, scale_of
from attunebench.results.parsing import parse_result
from attunebench.runner.files import identity_of, read_object
from attunebench.runner.settings import RunSettings

_ASKED = "SELECT DISTINCT model, parameters FROM replies WHERE kind = 'judge'"


def settled(settings: RunSettings, tell: Callable[[str], None], *, within: bool = False) -> RunSettings:
    """The settings with the scale of their judges; `tell` hears of one that the folder decides. The named judges' votes
    on drafts of the evaluated model count first, then their other votes, then those of others. `within`: subfolders
    count too."""
    if not settings.judges or settings.judge_scale is not None:
        return settings
    names, found = frozenset(judge.model for judge in settings.judges), dict[int, JudgeScale]()
    for model, judge, scale in _votes(settings.output, within):
        found.setdefault(2 if judge not in names else int(model != settings.em.model), scale)
        if 0 in found:
            break
    scale = found[min(found)] if found else JUDGE_SCALE
    if scale != JUDGE_SCALE:
        tell(
            f"Judges rate on the {scale} scale, like the votes in {settings.output}; --judge-scale {JUDGE_SCALE} "
            f"requests votes on the {JUDGE_SCALE} scale."
        )
    return settings.model_copy(update={"judge_scale": scale})


def _votes(folder: Path, within: bool) -> Iterator[tuple[str, str, JudgeScale]]:
    """(evaluated model or "", judge, scale) of all votes: in results, then in the journal."""
    for path in sorted(folder.rglob("*.json") if within else folder.glob("*.json")):
        data = read_object(path) or {}
        with suppress(ValueError):  # no result
            result = parse_result(data if identity_of(data) is not None else {})
            voters = ((result.em_model, who, turn.votes[who].scale) for turn in result.turns for who in turn.voters)
            yield from dict.fromkeys(voters)
    if folder.is_dir():
        with Journal.read(folder) as journal:
            for model, parameters in journal.select(_ASKED):
                yield "", str(model), scale_of(json_object(str(parameters)).get("judge_scale"))
