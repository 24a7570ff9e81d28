"""On which scale a run's judges rate where nobody says so: on that of the votes that its folder holds already.

Votes are paid for, so a command that was right before there were two scales asks for nothing anew. Reads results, the
journal and, from callers that have them, requests under way; asks and writes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from attunebench.journal import Journal
from attunebench.judging import JUDGE_SCALE, JudgeScale, scale_of
from attunebench.results.parsing import parse_result
from attunebench.runner.files import identity_of, read_object
from attunebench.runner.settings import RunSettings

Vote = tuple[str, str, JudgeScale]
"""(evaluated model, judge, scale)"""
_ANY = ""
"""The evaluated model of votes that do not say it."""
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
    judges, which theirs are to stand beside.
    `within`: results in folders within the output folder count too. `under_way`: model and parameters (JSON) of judges'
    requests that may be answered yet. Raises DataError for a journal that cannot be used.
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


def _votes(folder: Path, within: bool, under_way: Iterable[tuple[str, str]]) -> Iterator[Vote]:
    """Every judge that has voted, with the scale: in results, then in the journal, then what is under way."""
    for path in sorted(folder.rglob("*.json") if within else folder.glob("*.json")):
        yield from dict.fromkeys(_votes_in(path))
    if folder.is_dir():
        with Journal.read(folder) as journal:
            yield from (_vote(*row) for row in journal.select(_ASKED))
    yield from (_vote(*row) for row in under_way)


def _votes_in(path: Path) -> Iterator[Vote]:
    data = read_object(path)
    if data is None or identity_of(data) is None:
        return
    try:
        result = parse_result(data)
    except ValueError:
        return
    for turn in result.turns:
        for judge in turn.voters:
            yield result.em_model, judge, turn.votes[judge].scale


def _vote(model: str, parameters: str) -> Vote:
    try:
        stated = json.loads(parameters)
    except ValueError:
        stated = None
    return _ANY, model, scale_of(stated.get("judge_scale") if isinstance(stated, dict) else None)
