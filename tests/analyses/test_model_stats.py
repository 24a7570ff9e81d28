"""What `stats` says of a model is what its results say: numbers are recounted from the scores' JSON in plain Python."""

from __future__ import annotations

import copy
import math
import statistics
from collections import Counter
from functools import cache
from typing import Any

import pytest
from planted import Plan, planted_conversations
from planted_studies import table_of
from result_factory import noisy_result

from attunebench.analyses import Analysis, Cell, Settings, Table
from attunebench.analyses.stats import model_stats
from attunebench.conversations.reading import read_conversation
from attunebench.errors import UsageError
from attunebench.metrics.registry import REGISTRY, cards_of
from attunebench.reports.analyses import render
from attunebench.results.parsing import parse_result
from attunebench.scorer import score
from attunebench.scores.loading import score_table

COUNT = 26


@cache
def _scores() -> Any:
    """Two models, 26 conversations of 13 people: `noisy` lacks four of them, and a cost, and has one of them twice."""
    talks = planted_conversations(Plan(COUNT, turns=3, people=13, seed=3))
    raws = []
    for index, talk in enumerate(talks):
        for model in ("noisy", "other"):
            raw = noisy_result(talk, index, model=model)
            raw |= {"duration_seconds": 2.0 + index, "usage": {"prompt_tokens": 100 * index, "completion_tokens": 7}}
            raw |= {} if index in (0, 5) else {"api_cost": 0.0 if index == 6 else 0.01 * index}
            raw |= {"em_model_reported": f"{model}-{'v2' if index % 3 else 'v1'}", "providers_reported": ["Host"]}
            if model == "other" or index >= 4:
                raws.append((raw, f"{model}/{index}.json"))
    raws.append(({**noisy_result(talks[9], 99, model="noisy"), "epoch": 2, "api_cost": 0.5}, "noisy/9_again.json"))
    conversations = []
    for index, talk in enumerate(talks):
        read, notes = read_conversation(talk, f"conversation_{index}.json", source=f"conversation_{index}.json")
        assert read is not None, notes.errors
        conversations.append(read)
    return score(conversations, [parse_result(raw, name) for raw, name in raws], resamples=200)


def scores() -> Any:
    return copy.deepcopy(_scores())


def looked_up(content: Any, model: str = "noisy", **settings: Any) -> Analysis:
    return model_stats(score_table(content), Settings(**settings), [model])[1]


@cache
def noisy() -> Analysis:
    return looked_up(_scores())


def entries(model: str = "noisy") -> list[Any]:
    return [entry for entry in _scores()["conversations"] if entry["em_model"] == model]


def values_of(metric: str, model: str = "noisy") -> dict[str, float]:
    """Conversation → its mean over epochs."""
    by_talk: dict[str, list[float]] = {}
    for entry in entries(model):
        if entry["metrics"][metric] is not None:
            by_talk.setdefault(entry["conversationId"], []).append(entry["metrics"][metric])
    return {talk: sum(found) / len(found) for talk, found in by_talk.items()}


def row_of(table: Table, first: str) -> dict[str, Cell]:
    (row,) = (row for row in table.rows if row[0].value == first)
    return dict(zip((column.id for column in table.columns), row, strict=True))


def metric_rows(analysis: Analysis) -> dict[str, dict[str, Cell]]:
    found = {}
    for table in analysis.tables:
        ids = [column.id for column in table.columns]
        if "three_quarters" in ids:
            found |= {row[-1].value: dict(zip(ids, row, strict=True)) for row in table.rows}
    return found


def test_every_metric_stands_there_once_in_the_order_of_the_registry_within_its_group() -> None:
    rows = list(metric_rows(noisy()))
    measured = [m for m in cards_of("attunebench") if REGISTRY[m].status == "canonical" or values_of(m)]
    assert sorted(measured) == sorted(rows)
    for group in ("pillar", "turn", "conversation", "draft", "diagnostic"):
        assert [m for m in measured if REGISTRY[m].group == group] == [m for m in rows if REGISTRY[m].group == group]


@pytest.mark.parametrize("metric", cards_of("attunebench"))
def test_mean_n_and_spread_are_those_of_the_conversations(metric: str) -> None:
    values = sorted(values_of(metric).values())
    row = metric_rows(noisy()).get(metric)
    if row is None:
        assert not values
        return
    assert len(values) == row["n"].value == row["mean"].n
    if not values:
        assert {None} == {row[part].value for part in ("mean", "sd", "lowest", "median", "highest")}
        return
    if not metric.endswith("_rate"):  # rates are sums over sums
        assert pytest.approx(statistics.fmean(values)) == row["mean"].value
    assert pytest.approx(statistics.stdev(values)) == row["sd"].value
    assert pytest.approx(statistics.median(values)) == row["median"].value
    quarters = statistics.quantiles(values, n=4, method="inclusive")
    assert pytest.approx([quarters[0], quarters[2]]) == [row["quarter"].value, row["three_quarters"].value]
    assert (values[0], values[-1]) == (row["lowest"].value, row["highest"].value)


def test_intervals_are_those_that_score_wrote() -> None:
    (aggregate,) = (a for a in _scores()["aggregates"] if a["em_model"] == "noisy")
    for metric, row in metric_rows(noisy()).items():
        wrote = aggregate["metrics"][metric]
        assert (wrote["mean"], wrote["ci_low"], wrote["ci_high"]) == (
            row["mean"].value,
            row["mean"].low,
            row["mean"].high,
        )


@pytest.mark.parametrize("metric", ["composite", "emotion_intensity_mae", "perspective_gap", "q3_fit"])
def test_best_and_worst_are_the_ends_and_ties_go_to_the_first(metric: str) -> None:
    values = values_of(metric)
    order = [talk["conversationId"] for talk in _scores()["ground_truth"] if talk["conversationId"] in values]
    table = table_of(looked_up(scores(), metrics=(metric,)), "extremes")
    ends = {"emotion_intensity_mae": ("worst", "best"), "perspective_gap": ("highest", "lowest")}
    top, bottom = ends.get(metric, ("best", "worst"))
    for end, sign in ((top, -1), (bottom, 1)):
        ranked = sorted(order, key=lambda talk: (sign * values[talk], order.index(talk)))[:3]
        rows = [row for row in table.rows if row[1].value == end]
        assert [(talk, values[talk]) for talk in ranked] == [(row[4].value, row[2].value) for row in rows]
        alike = [sum(value == values[talk] for value in values.values()) for talk in ranked]
        assert alike == [row[3].value for row in rows]


def test_of_other_metrics_one_conversation_stands_at_each_end_and_where_all_are_alike_one_in_all() -> None:
    content = scores()
    for entry in content["conversations"]:
        entry["metrics"]["q1_goals"] = 0.5
    rows = table_of(looked_up(content), "extremes").rows
    counted = {}
    for row in rows:
        counted[row[0].value] = counted.get(row[0].value, 0) + 1
    assert (6, 2, 1) == (counted["Composite"], counted["Emotion F1"], counted["Q1 goals"])
    (alike,) = (row for row in rows if row[0].value == "Q1 goals")
    assert ("all alike", COUNT - 4) == (alike[1].value, alike[3].value)


def test_the_file_of_a_conversation_is_asked_for_by_its_name_and_further_runs_are_counted() -> None:
    asked = []

    def locate(source: int, name: str) -> str:
        asked.append((source, name))
        return f"here/{name}"

    table = table_of(model_stats(score_table(scores()), Settings(), ["noisy"], locate)[1], "extremes")
    files = {row[4].value: row[6] for row in table.rows}
    names = {entry["conversationId"]: entry["source_file"] for entry in reversed(entries())}
    assert {f"here/{names[talk]}" for talk in files} == {cell.value for cell in files.values()}
    assert {(0, name) for name in names.values()} >= set(asked)
    twice = _scores()["ground_truth"][9]["conversationId"]
    assert all(("and 1 more" if talk == twice else "") == cell.mark for talk, cell in files.items())


def test_cost_is_summed_over_those_that_say_it_and_unknown_is_not_nothing() -> None:
    row = row_of(table_of(noisy(), "cost"), "US dollars")
    stated = [entry["api_cost"] for entry in entries() if entry["api_cost"] is not None]
    by_talk: dict[str, list[float]] = {}
    for entry in entries():
        if entry["api_cost"] is not None:
            by_talk.setdefault(entry["conversationId"], []).append(entry["api_cost"])
    each = [sum(found) / len(found) for found in by_talk.values()]
    assert (len(entries()) - 1, len(entries())) == (len(stated), row["of"].value)
    assert (len(stated), 0.0) == (row["n"].value, row["lowest"].value)
    assert pytest.approx([math.fsum(stated), statistics.fmean(each), statistics.median(each), max(each)]) == [
        row[part].value for part in ("total", "mean", "median", "highest")
    ]
    assert table_of(noisy(), "cost").notes
    content = scores()
    for entry in content["conversations"]:
        entry["api_cost"] = None
    row = row_of(table_of(looked_up(content), "cost"), "US dollars")
    assert (0, None, "not stated", None) == (row["n"].value, row["total"].value, row["total"].mark, row["mean"].value)


def test_tokens_and_time_are_sums_of_what_results_state() -> None:
    table = table_of(noisy(), "tokens")
    assert sum(entry["usage"].get("prompt_tokens", 0) for entry in entries()) == row_of(table, "prompt")["total"].value
    assert (None, 0) == (row_of(table, "of them cached")["total"].value, row_of(table, "of them cached")["n"].value)
    seconds = [entry["duration_seconds"] for entry in entries() if entry["duration_seconds"] is not None]
    assert pytest.approx(sum(seconds)) == row_of(table_of(noisy(), "time"), "seconds")["total"].value


def test_rates_of_calls_are_sums_over_sums_and_those_of_score() -> None:
    (aggregate,) = (a for a in _scores()["aggregates"] if a["em_model"] == "noisy")
    table = table_of(noisy(), "calls")
    parts = {
        "items answered": ("answered", "expected", "answered_rate"),
        "calls repaired": ("mended", "made", "mended_rate"),
        "calls refused": ("refused", "made", "refusal_rate"),
    }
    for what, (part, whole, metric) in parts.items():
        told = [e["calls"] for e in entries() if e["calls"][part] is not None and e["calls"][whole] is not None]
        row = row_of(table, what)
        above, below = sum(calls[part] for calls in told), sum(calls[whole] for calls in told)
        assert (len(told), above, below) == (row["n"].value, row["count"].value, row["of"].value)
        assert pytest.approx(above / below) == row["share"].value
        assert pytest.approx(aggregate["metrics"][metric]["mean"]) == row["share"].value
    cut = row_of(table, "calls cut at the token limit")
    assert (0, None, None) == (cut["n"].value, cut["share"].value, cut["count"].value)


def test_who_answered_is_counted_over_results() -> None:
    rows = [tuple(cell.value for cell in row) for row in table_of(noisy(), "provenance").rows][:3]
    third = sum(1 for index in range(4, COUNT) if index % 3 == 0)
    assert [
        ("model", COUNT - 4 - third, "noisy-v2"),
        ("model", third, "noisy-v1"),
        ("provider", COUNT - 4, "Host"),
    ] == rows
    assert f"noisy-v2 ({COUNT - 4 - third}) and noisy-v1 ({third})" in noisy().shows


def test_what_was_not_scored_is_said_before_any_number() -> None:
    assert f"noisy: scored {COUNT - 4} of {COUNT}: 4 missing." == noisy().warnings[0]
    table = table_of(noisy(), "coverage")
    row = dict(zip((column.id for column in table.columns), table.rows[0], strict=True))
    assert (COUNT, COUNT - 4, 0, 4) == tuple(row[i].value for i in ("expected", "scored", "skipped", "missing"))
    people = {entry["participant_id"] for entry in entries()}
    assert len(people) == row["participants"].value


def test_a_model_of_which_nothing_was_scored_is_there_and_says_so() -> None:
    content = scores()
    empty = copy.deepcopy(content["aggregates"][0]) | {"em_model": "failed", "n_conversations": 0}
    ids = [talk["conversationId"] for talk in content["ground_truth"]]
    empty["coverage"] = {
        "expected": COUNT,
        "scored": 0,
        "skipped": ids,
        "duplicated": [],
        "missing": [],
        "sample": None,
    }
    empty["metrics"] = {name: {"mean": None, "n": 0, "se": None, "ci_low": None, "ci_high": None} for name in REGISTRY}
    content["aggregates"].append(empty)
    overview, failed = model_stats(score_table(content), Settings(), ["failed"])
    assert f"{COUNT} skipped" in (failed.missing or "")
    assert (0, None) == (overview.tables[0].rows[0][2].value, overview.tables[0].rows[0][4].value)


def test_models_are_found_as_in_other_commands_and_unknown_ones_get_those_there_are() -> None:
    study = score_table(scores())
    assert 3 == len(model_stats(study, Settings()))
    for name in ("noisy", "NOISY", "test/noisy"):
        assert ["noisy (default)"] == [analysis.title for analysis in model_stats(study, Settings(), [name])[1:]]
    with pytest.raises(UsageError, match="There is noisy, other"):
        model_stats(study, Settings(), ["zzz"])
    with pytest.raises(UsageError, match="Nothing was scored in mode 'verbose'; there is default"):
        model_stats(study, Settings(mode="verbose"), ["noisy"])


def test_the_overview_has_a_line_for_each_model_with_the_means_of_its_own_table() -> None:
    overview, *each = model_stats(score_table(scores()), Settings())
    for row, analysis in zip(overview.tables[0].rows, each, strict=True):
        assert metric_rows(analysis)["composite"]["mean"] == row[4]


def test_two_renderings_are_the_same() -> None:
    again = looked_up(scores())
    for format in ("terminal", "markdown", "csv", "json"):
        assert render([noisy()], format, rows=None) == render([again], format, rows=None)


def test_thousands_of_conversations_make_no_more_to_read() -> None:
    content = scores()
    (first,) = [entry for entry in content["conversations"] if entry["em_model"] == "other"][:1]
    truth = content["ground_truth"][0]
    few = looked_up(content, "other")
    for number in range(1000):
        content["conversations"].append(first | {"conversationId": f"c{number}"})
        content["ground_truth"].append(truth | {"conversationId": f"c{number}"})
    many = looked_up(content, "other")
    assert [len(table.rows) for table in few.tables] == [len(table.rows) for table in many.tables]


def test_intervals_that_take_talks_of_one_person_as_independent_say_so() -> None:
    person_of = {entry["conversationId"]: entry["participant_id"] for entry in entries()}
    people = Counter(person_of.values())
    several = sum(count > 1 for count in people.values())
    said = f"{several} of {len(people)} participants have several conversations"
    assert any(said in note for note in noisy().notes)
    by_people = scores()
    by_people["metadata"]["intervals"]["unit"] = "participant"
    assert not any("several conversations" in note for note in looked_up(by_people).notes)
