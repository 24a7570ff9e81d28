"""The votes of a result that count together: those on one scale, since ratings on two are never averaged. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from attunebench.judging import JUDGE_SCALE, JudgeScale
from attunebench.results.parsing import UNNAMED_JUDGE
from attunebench.results.schema import Result, ResultTurn


def on_one_scale(result: Result, wanted: JudgeScale | None = None) -> Result:
    """The result with its votes on one scale alone: the wanted one, else the default one where it has such votes.

    Its settings name the scale of each judge that counts (`judge_scales`).
    """
    there = {turn.scale(judge) for turn in result.turns for judge in _voters(turn)}
    scale = wanted or (JUDGE_SCALE if JUDGE_SCALE in there else next(iter(there), None))
    voted = {judge for turn in result.turns for judge in _voters(turn)}
    first = result.judges[0] if result.judges else UNNAMED_JUDGE
    turns = tuple(_only(turn, scale, first) for turn in result.turns) if there - {scale} else result.turns
    kept = {judge for turn in turns for judge in _voters(turn)}
    judges = tuple(judge for judge in result.judges if judge in kept or judge not in voted)
    if there and not kept:
        judges = ()
    named = {first if judge == UNNAMED_JUDGE else judge: scale for judge in sorted(kept)}
    left_out = sorted(there - {scale})
    settings = {**result.settings, "judge_scales": named}
    return replace(result, turns=turns, judges=judges, settings=settings, votes_left_out=tuple(left_out))


def _voters(turn: ResultTurn) -> Mapping[str, Any]:
    return {**turn.judge_scores, **turn.judge_binary}


def _only(turn: ResultTurn, scale: JudgeScale | None, first: str) -> ResultTurn:
    """The turn with votes on this scale; the fields of a single judge hold the `first` one's."""
    alone = turn.scale(first) == scale
    return replace(
        turn,
        first_ratings=turn.first_ratings if alone else {},
        first_assessment=turn.first_assessment if alone else None,
        judge_scores={judge: votes for judge, votes in turn.judge_scores.items() if turn.scale(judge) == scale},
        judge_binary={judge: votes for judge, votes in turn.judge_binary.items() if turn.scale(judge) == scale},
    )
