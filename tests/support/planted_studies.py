"""Studies with planted effects that several tests of analyses share; each is made once in a test run."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

from planted import Plan, Skill, planted_scores

from attunebench.analyses import Analysis, Cell, Settings, Subject, Table, analyse
from attunebench.scores import Scores
from attunebench.scores.loading import score_table
from attunebench.scores.table import ScoreTable

QUICK = Settings(resamples=300)
PAIRWISE = {"alpha": 0.85, "beta": 0.75, "gamma": 0.65, "delta": 0.65, "omega": 0.35}
"""The chance of a right pairwise answer that is planted in `ranked`; gamma and delta are equal."""


@cache
def ranked_scores() -> Scores:
    """Five models that differ in pairwise answers alone, except that alpha foresees more of the whole talk too.

    Under verbose alpha and beta answer as before and omega 0.2 better on pairwise.
    """
    skills: dict[str, Any] = {}
    for name, chance in PAIRWISE.items():
        skill = Skill(pairwise=chance, wide=0.9 if name == "alpha" else 0.4, judge=chance)
        skills[name] = {"default": skill}
        if name in ("alpha", "beta", "omega"):
            verbose = Skill(pairwise=chance + (0.2 if name == "omega" else 0), wide=skill.wide, judge=chance)
            skills[name]["verbose"] = verbose
    return planted_scores(skills, Plan(conversations=30, turns=4, people=24, seed=5))


@cache
def level_scores() -> Scores:
    """Four models of one skill, in two modes: nothing is planted."""
    equal = {"default": Skill(judge=0.6), "verbose": Skill(judge=0.6)}
    return planted_scores(dict.fromkeys("abcd", equal), Plan(conversations=30, turns=4, seed=2))


@cache
def ranked() -> ScoreTable:
    return score_table(ranked_scores())


@cache
def level() -> ScoreTable:
    return score_table(level_scores())


_MADE: dict[Any, tuple[Analysis, ScoreTable, tuple[ScoreTable, ...]]] = {}


def made(name: str, study: ScoreTable, settings: Settings = QUICK, others: tuple[ScoreTable, ...] = ()) -> Analysis:
    """An analysis of a study, made once for the same objects (which are kept, so that their ids stay theirs)."""
    key = (name, id(study), settings, tuple(map(id, others)))
    if key not in _MADE:
        _MADE[key] = (analyse(name, Subject(study, settings, others)), study, others)
    return _MADE[key][0]


def table_of(analysis: Analysis, table_id: str) -> Table:
    """The table of this id."""
    return next(table for table in analysis.tables if table.id == table_id)


def cell_of(table: Table, key: str | tuple[str, ...], column: str) -> Cell:
    """The cell of the row that begins with these words."""
    keys = (key,) if isinstance(key, str) else key
    position = [c.id for c in table.columns].index(column)
    return next(row[position] for row in table.rows if tuple(cell.value for cell in row[: len(keys)]) == keys)


def covers(cell: Cell, value: float) -> bool:
    """Whether the interval of a cell holds the value."""
    return cell.low is not None and cell.high is not None and cell.low <= value <= cell.high


def older(scores: Scores) -> Scores:
    """The same scores as an older version wrote them: no labels, answers, references and costs."""
    kept: Any = {k: copy.deepcopy(v) for k, v in scores.items() if k not in ("ground_truth", "questions", "references")}
    for entry in kept["conversations"]:
        for key in ("answers", "usage", "api_cost", "duration_seconds"):
            entry.pop(key, None)
        for turn in entry["turns"]:
            turn.pop("answers", None)
    return kept  # type: ignore[no-any-return]
