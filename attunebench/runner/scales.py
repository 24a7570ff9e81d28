"""On which scale a run's judges rate where nobody says so: on that of the votes that its folder holds already.

Votes are paid for, so a command that was right before there were two scales asks for nothing anew. Reads results, the
journal and, from callers that have them, requests under way; asks and writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from attunebench.journal import Journal
from attunebench.journal.entries import json_object
from attunebench.judging import JUDGE_SCALE, JudgeScale, scale_of
from attunebench.results.parsing import parse_result
from attunebench.runner.files import identity_of, read_object
from attunebench.runner.settings import RunSettings

_ASKED = "SELECT DISTINCT model, parameters FROM replies WHERE kind = 'judge'"


def settled(
    settings: RunSettings,
    told: Callable[[str], None],
    *,
    within: bool = False,
    under_way: Iterable[tuple[str, str]] = (),
) -> RunSettings:
    """The settings with the scale of their judges; `told` hears in a sentence of one that the folder decides.

    The named judges' votes on drafts of the evaluated model count first, then their other votes, then those of other
    judges. `within`: results in folders within the output folder count too. `under_way`: model and parameters (JSON) of
    judges' requests that may be answered yet. Raises DataError for a journal that cannot be used.
    """
    if not settings.judges or settings.judge_scale is not None:
        return settings
    names = frozenset(judge.model for judge in settings.judges)
    found: dict[int, JudgeScale] = {}
    for model, judge, named in _votes(settings.output, within, under_way):
        rank = 2 if judge not in names else int(model != settings.em.model)
        found.setdefault(rank, named)
        if rank == 0:
            break
    scale = found[min(found)] if found else None
    if scale is not None and scale != JUDGE_SCALE:
        told(
            f"Judges rate on the {scale} scale, like the votes in {settings.output}; --judge-scale {JUDGE_SCALE} "
            f"requests votes on the {JUDGE_SCALE} scale."
        )
    return settings.model_copy(update={"judge_scale": scale or JUDGE_SCALE})


def _votes(folder: Path, within: bool, under_way: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str, JudgeScale]]:
    """(evaluated model or "", judge, scale) of all votes: in results, then in the journal, then what is under way."""
    for path in sorted(folder.rglob("*.json") if within else folder.glob("*.json")):
        data = read_object(path) or {}
        with suppress(ValueError):  # no result
            result = parse_result(data if identity_of(data) is not None else {})
            voters = ((result.em_model, who, turn.votes[who].scale) for turn in result.turns for who in turn.voters)
            yield from dict.fromkeys(voters)
    if folder.is_dir():
        with Journal.read(folder) as journal:
            under_way = [*((str(model), str(told)) for model, told in journal.select(_ASKED)), *under_way]
    for model, parameters in under_way:
        yield "", model, scale_of(json_object(parameters).get("judge_scale"))
