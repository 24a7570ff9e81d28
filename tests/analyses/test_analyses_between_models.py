"""Truths that all analyses between models share: odd data never breaks them, and they say the same every time."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from planted_studies import level, level_scores, made, older, ranked, ranked_scores

from attunebench.analyses import Analysis, Settings, Subject, analyse
from attunebench.reports.analyses import FORMATS, render
from attunebench.scores.loading import score_table
from attunebench.scores.table import ScoreTable

ODD = Settings(resamples=100)
"""Enough to see that nothing breaks."""
NAMES = (
    "leaderboard",
    "discrimination",
    "independence",
    "group-tiers",
    "leaders",
    "win-rates",
    "modes",
    "distributions",
    "branch-errors",
    "conversation-wide",
    "cost",
    "human-answers",
    "label-sets",
    "personalisation",
)


def whole(analysis: Analysis) -> bool:
    """Either tables, a sentence of what they show and one of what not, or a sentence why there are none."""
    drawn = bool(render([analysis], "json"))
    if analysis.missing:
        return drawn and not analysis.tables and not analysis.shows
    rows_fit = all(table.rows and len(row) == len(table.columns) for table in analysis.tables for row in table.rows)
    return drawn and rows_fit and bool(analysis.tables and analysis.shows and analysis.cannot)


def no_claim(analysis: Analysis) -> bool:
    """No cell with a claim: whatever has an interval or p from too little is flagged as small."""
    cells = [cell for table in analysis.tables for row in table.rows for cell in row if not cell.small]
    return not any(cell.p_corrected is not None and cell.p_corrected <= 0.05 for cell in cells)


@pytest.mark.parametrize("name", NAMES)
def test_an_analysis_has_sentences_captions_and_charts_of_its_columns_in_every_format(name: str) -> None:
    analysis = made(name, ranked(), ODD, others=(level(),))
    assert whole(analysis)
    assert all(render([analysis], format) for format in FORMATS)
    for table in analysis.tables:
        ids = {column.id for column in table.columns}
        assert table.caption
        assert len(ids) == len(table.columns)
        assert table.chart is None or {table.chart.label, *table.chart.values} <= ids


@pytest.mark.parametrize("name", NAMES)
def test_two_runs_over_the_same_scores_are_byte_identical(name: str) -> None:
    again = analyse(name, Subject(score_table(ranked_scores()), ODD, (level(),)))
    assert render([made(name, ranked(), ODD, others=(level(),))], "json") == render([again], "json")


def one_person() -> ScoreTable:
    study = ranked()
    first = study.participant(study.ids[0])
    return study.with_conversations([i for i in study.ids if study.participant(i) == first])


@cache
def undefined() -> ScoreTable:
    """No metric of any conversation is defined."""
    scores: Any = copy.deepcopy(level_scores())
    for entry in scores["conversations"]:
        entry["metrics"] = dict.fromkeys(entry["metrics"])
        for turn in entry["turns"]:
            turn["metrics"] = dict.fromkeys(turn["metrics"])
    return score_table(scores)


@cache
def as_before() -> ScoreTable:
    return score_table(older(ranked_scores()))


@cache
def twins() -> ScoreTable:
    """The first model of each mode under four names."""
    scores = level_scores()
    kept: Any = {**copy.deepcopy(scores), "conversations": [], "aggregates": []}
    first = scores["conversations"][0]["em_model"]
    for name in ("one", "two", "three", "four"):
        for key in ("conversations", "aggregates"):
            mine: Any = scores[key]  # type: ignore[literal-required]
            kept[key] += [{**entry, "em_model": name} for entry in mine if entry["em_model"] == first]
    return score_table(kept)


ODD_STUDIES: dict[str, Callable[[], ScoreTable]] = {
    "one model": lambda: ranked().with_groups(ranked().groups[:1]),
    "nothing defined": undefined,
    "scores of an older version": as_before,
}
UNDECIDABLE: dict[str, tuple[Callable[[], ScoreTable], Settings]] = {
    "one conversation": (lambda: ranked().with_conversations(ranked().ids[:1]), ODD),
    "a single participant": (one_person, replace(ODD, small=1, by_participant=True)),
    "models that answer alike": (twins, ODD),
}
BY_ONE_MODEL = ("personalisation", "independence", "branch-errors")
"""These test something else than differences between models, which may well be there among equal models."""


@pytest.mark.parametrize("study", ODD_STUDIES.values(), ids=ODD_STUDIES)
@pytest.mark.parametrize("name", NAMES)
def test_odd_data_is_no_error(name: str, study: Callable[[], ScoreTable]) -> None:
    assert whole(made(name, study(), ODD, others=(study(),)))


@pytest.mark.parametrize("odd", UNDECIDABLE)
@pytest.mark.parametrize("name", NAMES)
def test_too_little_or_equal_data_supports_no_claim(name: str, odd: str) -> None:
    study, settings = UNDECIDABLE[odd]
    analysis = made(name, study(), settings, others=(ranked(),))
    assert whole(analysis)
    if odd != "models that answer alike" or name not in BY_ONE_MODEL:
        assert no_claim(analysis)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("change", [{"mode": "omniscient"}, {"correction": "maxt", "by_participant": True}])
def test_settings_that_leave_little_or_test_otherwise_are_no_error(name: str, change: dict[str, Any]) -> None:
    assert whole(made(name, ranked(), replace(ODD, **change), others=(level(),)))


@pytest.mark.parametrize("name", ["human-answers", "personalisation", "independence"])
def test_benjamini_and_hochberg_work_where_max_t_cannot(name: str) -> None:
    assert whole(made(name, ranked(), replace(ODD, correction="bh")))
