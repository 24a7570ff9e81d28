"""Truths that all analyses within models share: odd data never breaks them, and they say the same every time."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from planted_studies import level_scores, older
from planted_studies import made as made_with
from planted_within import changed, people_study, turns_scores, turns_study

from attunebench.analyses import Analysis, Settings
from attunebench.reports.analyses import FORMATS, render
from attunebench.scores.loading import score_table
from attunebench.scores.table import ScoreTable

NAMES = (
    "perspective-gap",
    "turn-drift",
    "affect-gap",
    "for-whom",
    "question-heatmap",
    "risk-panel",
    "panas-items",
    "mood-path",
    "emotion-confusion",
)
NEEDS_LABELS = NAMES[2:]
FEW = Settings(resamples=100)
"""Enough to see that nothing breaks; what is found is tested for each analysis elsewhere."""


def made(name: str, study: ScoreTable, settings: Settings = FEW) -> Analysis:
    return made_with(name, study, settings)


@cache
def of_turns(name: str) -> Analysis:
    return made(name, turns_study())


def whole(analysis: Analysis) -> bool:
    """Either tables, a sentence of what they show and one of what not, or a sentence why there are none."""
    rows_fit = all(len(row) == len(table.columns) for table in analysis.tables for row in table.rows)
    drawn = bool(render([analysis], "json"))
    if analysis.missing:
        return drawn and not analysis.tables and not analysis.shows
    filled = all(table.rows for table in analysis.tables)
    return drawn and rows_fit and filled and bool(analysis.tables and analysis.shows and analysis.cannot)


def no_claim(analysis: Analysis) -> bool:
    """No cell that has a corrected p below 0.05 without being flagged as small."""
    return not any(
        cell.p_corrected is not None and not cell.small and cell.p_corrected <= 0.05
        for table in analysis.tables
        for row in table.rows
        for cell in row
    )


@pytest.mark.parametrize("name", NAMES)
def test_it_is_whole_in_every_format(name: str) -> None:
    analysis = of_turns(name)
    assert whole(analysis)
    assert not analysis.missing
    assert all(render([analysis], format) for format in FORMATS)


@pytest.mark.parametrize("name", NAMES)
def test_every_table_has_a_caption_and_charts_name_its_columns(name: str) -> None:
    tables = of_turns(name).tables
    assert len({table.id for table in tables}) == len(tables)
    for table in tables:
        ids = {column.id for column in table.columns}
        assert table.caption
        assert len(ids) == len(table.columns)
        assert table.chart is None or {table.chart.label, *table.chart.values} <= ids


@pytest.mark.parametrize("name", NAMES)
def test_two_runs_over_the_same_scores_are_byte_identical(name: str) -> None:
    studies = [score_table(turns_scores()) for _ in range(2)]
    first, again = (made(name, study.with_conversations(study.ids[:6])) for study in studies)
    assert render([first], "json") == render([again], "json")


@pytest.mark.parametrize("name", NAMES)
def test_one_model_is_no_error(name: str) -> None:
    study = turns_study()
    assert whole(made(name, study.with_groups(study.groups[:1])))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("count", [1, 2])
def test_one_or_two_conversations_support_no_claim(name: str, count: int) -> None:
    study = turns_study()
    analysis = made(name, study.with_conversations(study.ids[:count]))
    assert whole(analysis)
    assert no_claim(analysis)


@cache
def one_person() -> ScoreTable:
    def same(scores: Any) -> None:
        for entry in (*scores["ground_truth"], *scores["conversations"]):
            entry["participant_id"] = "same"

    return changed(turns_scores(), same)


@pytest.mark.parametrize("name", NAMES)
def test_a_single_participant_supports_no_claim(name: str) -> None:
    analysis = made(name, one_person())
    assert whole(analysis)
    assert no_claim(analysis)


def nothing_defined(scores: Any) -> None:
    for entry in scores["conversations"]:
        entry["metrics"] = dict.fromkeys(entry["metrics"])
        for turn in entry["turns"]:
            turn["metrics"] = dict.fromkeys(turn["metrics"])


def nothing_answered(scores: Any) -> None:
    for entry in scores["conversations"]:
        entry["answers"] = {"post_panas": None, "wide": None}
        for turn in entry["turns"]:
            turn["answers"] = {}


def nothing_labelled(scores: Any) -> None:
    for truth in scores["ground_truth"]:
        truth["post_panas"] = {"positive": None, "negative": None, "items": {}}
        for turn in truth["turns"]:
            turn["tags"], turn["comparisons"] = None, []
            turn["observed"] = turn["preferred"] = "." * len(scores["questions"])


def nothing_felt(scores: Any) -> None:
    for truth in scores["ground_truth"]:
        for turn in truth["turns"]:
            turn["tags"] = {}
    for entry in scores["conversations"]:
        for turn in entry["turns"]:
            turn["answers"]["tags"] = {}
            turn["metrics"] |= {"emotion_f1": 1.0, "emotion_va": 1.0, "emotion_va_tagged": None}


def nothing_told(scores: Any) -> None:
    for truth in scores["ground_truth"]:
        truth |= {"topics": [], "attitude": None, "demographics": {}, "diagnosis_groups": [], "computed_scores": {}}


def all_alike(scores: Any) -> None:
    for entry in scores["conversations"]:
        for turn in entry["turns"]:
            turn["metrics"] = dict.fromkeys(turn["metrics"], 0.5)
        entry["metrics"] = dict.fromkeys(entry["metrics"], 0.5)


ODD = (nothing_defined, nothing_answered, nothing_labelled, nothing_felt, nothing_told, all_alike)


@cache
def odd_study(odd: Callable[[Any], None]) -> ScoreTable:
    """Two models over a few conversations, with scores that are odd in this way."""
    atomic_write: Any = level_scores()
    few = {truth["conversationId"] for truth in atomic_write["ground_truth"][:6]}

    def kept(entry: Any) -> bool:
        return (
            entry["conversationId"] in few
            and entry.get("mode") != "verbose"
            and entry.get("em_model") not in ("c", "d")
        )

    parts = {key: [e for e in atomic_write[key] if kept(e)] for key in ("ground_truth", "conversations")}
    return changed({**atomic_write, **parts, "references": []}, odd)  # type: ignore[typeddict-item]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("odd", ODD)
def test_odd_data_is_no_error(name: str, odd: Callable[[Any], None]) -> None:
    assert whole(made(name, odd_study(odd)))


@cache
def older_study() -> ScoreTable:
    return score_table(older(turns_scores()))


@pytest.mark.parametrize("name", NAMES)
def test_scores_of_an_older_version_give_what_they_hold(name: str) -> None:
    analysis = made(name, older_study())
    assert whole(analysis)
    assert (name in NEEDS_LABELS) == bool(analysis.missing)


@pytest.mark.parametrize("name", NAMES)
def test_a_mode_that_is_not_there_is_said_and_no_error(name: str) -> None:
    assert made(name, turns_study(), Settings(resamples=100, mode="omniscient")).missing


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("correction", ["bh", "maxt"])
def test_every_correction_and_participants_as_clusters_work(name: str, correction: Any) -> None:
    study = people_study()
    few = study.with_conversations(study.ids[:16])
    assert whole(made(name, few, Settings(resamples=100, correction=correction, by_participant=True, small=5)))


@cache
def twice() -> ScoreTable:
    """Every result given once more."""

    def doubled(scores: Any) -> None:
        again = copy.deepcopy(scores["conversations"])
        for epoch, entries in enumerate((scores["conversations"], again)):
            for entry in entries:
                entry["epoch"] = epoch
        scores["conversations"] += again

    return changed(turns_scores(), doubled)


@pytest.mark.parametrize("name", NAMES)
def test_epochs_are_averaged_and_count_once(name: str) -> None:
    """The same answers given twice say what they say once."""
    assert of_turns(name).shows == made(name, twice()).shows


@pytest.mark.parametrize("name", NAMES)
def test_every_drill_names_what_is_there(name: str) -> None:
    study = turns_study()
    keys = {group.key for group in study.groups}
    turns = {(study.ids[turn.conversation], turn.number) for turn in study.turns}
    drills = [
        cell.drill for table in of_turns(name).tables for row in table.rows for cell in row if cell.drill is not None
    ]
    assert drills
    for drill in drills:
        assert drill.group is None or drill.group in keys
        assert set(drill.turns or ()) <= turns
        assert set(drill.conversations or ()) <= set(study.ids)
        assert drill.question is None or drill.question in study.questions
