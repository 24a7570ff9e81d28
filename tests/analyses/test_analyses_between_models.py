"""Truths that all analyses between models share: odd data never breaks them, and they say the same every time."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from planted_studies import QUICK, level, level_scores, made, older, ranked, ranked_scores

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
    rows_fit = all(len(row) == len(table.columns) for table in analysis.tables for row in table.rows)
    drawn = bool(render([analysis], "json"))
    if analysis.missing:
        return drawn and not analysis.tables and not analysis.shows
    filled = all(table.rows for table in analysis.tables)
    return drawn and rows_fit and filled and bool(analysis.tables and analysis.shows and analysis.cannot)


def no_claim(analysis: Analysis) -> bool:
    """No cell with a claim: whatever has an interval or p from too little is flagged as small."""
    return not any(
        cell.p_corrected is not None and not cell.small and cell.p_corrected <= 0.05
        for table in analysis.tables
        for row in table.rows
        for cell in row
    )


@pytest.mark.parametrize("name", NAMES)
def test_it_says_what_it_shows_and_what_it_cannot(name: str) -> None:
    analysis = made(name, ranked(), others=(level(),))
    assert whole(analysis)
    assert all(render([analysis], format) for format in FORMATS)


@pytest.mark.parametrize("name", NAMES)
def test_every_table_has_a_caption_and_charts_name_its_columns(name: str) -> None:
    for table in made(name, ranked(), others=(level(),)).tables:
        ids = {column.id for column in table.columns}
        assert table.caption
        assert len(ids) == len(table.columns)
        assert table.chart is None or {table.chart.label, *table.chart.values} <= ids


@pytest.mark.parametrize("name", NAMES)
def test_two_runs_over_the_same_scores_are_byte_identical(name: str) -> None:
    subject = Subject(score_table(ranked_scores()), QUICK, (level(),))
    assert render([made(name, ranked(), others=(level(),))], "json") == render([analyse(name, subject)], "json")


@pytest.mark.parametrize("name", NAMES)
def test_one_model_is_no_error(name: str) -> None:
    study = ranked()
    assert whole(made(name, study.with_groups(study.groups[:1]), ODD))


@pytest.mark.parametrize("name", NAMES)
def test_one_conversation_supports_no_claim(name: str) -> None:
    study = ranked()
    analysis = made(name, study.with_conversations(study.ids[:1]), ODD, others=(study,))
    assert whole(analysis)
    assert no_claim(analysis)


@pytest.mark.parametrize("name", NAMES)
def test_a_single_participant_supports_no_claim_about_people(name: str) -> None:
    study = ranked()
    one = study.with_conversations([i for i in study.ids if study.participant(i) == study.participant(study.ids[0])])
    settings = replace(ODD, small=1, by_participant=True)
    analysis = made(name, one, settings, others=(study,))
    assert whole(analysis)
    assert no_claim(analysis)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_defined_is_no_error(name: str) -> None:
    study = undefined()
    assert whole(made(name, study, ODD, others=(study,)))


@pytest.mark.parametrize("name", NAMES)
def test_models_that_answer_alike_are_never_told_apart(name: str) -> None:
    study = twins()
    analysis = made(name, study, ODD, others=(study,))
    assert whole(analysis)
    if name not in ("personalisation", "independence", "branch-errors"):
        assert no_claim(analysis)


@pytest.mark.parametrize("name", NAMES)
def test_scores_of_an_older_version_give_what_they_hold(name: str) -> None:
    study = as_before()
    assert whole(made(name, study, ODD, others=(study,)))


@pytest.mark.parametrize("name", NAMES)
def test_a_mode_that_is_not_there_is_said_and_no_error(name: str) -> None:
    assert whole(made(name, ranked(), replace(ODD, mode="omniscient")))


@pytest.mark.parametrize("name", NAMES)
def test_max_t_and_participants_as_clusters_work(name: str) -> None:
    settings = replace(ODD, correction="maxt", by_participant=True)
    assert whole(made(name, ranked(), settings, others=(level(),)))


@pytest.mark.parametrize("name", ["human-answers", "personalisation", "independence"])
def test_benjamini_and_hochberg_work_where_max_t_cannot(name: str) -> None:
    assert whole(made(name, ranked(), replace(ODD, correction="bh")))


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
