"""What strangers' files and odd names may try: no hang, no traceback, nothing lost, nothing that steers a terminal."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from factory import make_conversation, write_conversations

import attunebench
from attunebench.api import score_to_file
from attunebench.runner import ModelSettings, RunSettings

FORMATS = ("terminal", "markdown", "csv", "json")


def results_of(folder: str = "results") -> list[Path]:
    return sorted(path for path in Path(folder).glob("*.json") if path.is_file())


def change(path: Path, how: Callable[[dict[str, Any]], object]) -> None:
    content = json.loads(path.read_text())
    how(content)
    path.write_text(json.dumps(content))


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the results and the scores of the three conversations of `data`, made once."""
    place = tmp_path_factory.mktemp("study")
    data = write_conversations(tmp_path_factory.mktemp("conversations"), 3, seed=7)
    majority = ModelSettings(provider="baseline", model="majority")
    attunebench.run(data, RunSettings(em=majority, output=place / "results"))
    score_to_file(place / "results", data, place / "scores.json", resamples=5)
    return place


@pytest.fixture
def scored(study: Path, cli, data: Path, tmp_path: Path) -> Path:
    """`scores.json` in the current folder, beside the results that it was made from."""
    shutil.copytree(study, tmp_path, dirs_exist_ok=True)
    return Path("scores.json")


def test_a_pipe_in_the_output_folder_is_not_waited_for(cli, data: Path) -> None:
    Path("results").mkdir()
    os.mkfifo("results/pipe.json")
    os.mkfifo("results/_skipped_majority.json")
    assert 0 == cli("run", "baseline", "majority", data, "-q").status


def test_scores_never_take_the_place_of_a_pipe_but_go_into_it(cli, scored: Path, data: Path) -> None:
    os.mkfifo("pipe")
    with ThreadPoolExecutor(1) as other:
        heard = other.submit(Path("pipe").read_bytes)
        ended = cli("score", "--ground-truth", data, "-o", "pipe")
        assert len(json.loads(scored.read_text())["conversations"]) == len(json.loads(heard.result())["conversations"])
    assert (0, True) == (ended.status, Path("pipe").is_fifo())


def test_every_conversation_is_scored_whatever_its_id(cli, tmp_path: Path) -> None:
    names = ["_mine", "_skipped_mine", ".mine", "-rf", "__", "Case", "case", "a b", "a:b", "x" * 150]
    names += ["end ", "end", " end", "end\N{NO-BREAK SPACE}", "\N{ZERO WIDTH SPACE}end"]
    (tmp_path / "d").mkdir()
    for number, name in enumerate(names):
        talk = {**make_conversation(number), "conversationId": name}
        (tmp_path / "d" / f"conversation_{number}.json").write_text(json.dumps(talk))
    assert 0 == cli("validate", "d").status
    assert 0 == cli("run", "baseline", "majority", "d", "-q").status
    assert 0 == cli("score", "--ground-truth", "d", "--resamples", "5").status
    scored = json.loads(Path("scores.json").read_text())["conversations"]
    assert set(names) == {entry["conversationId"] for entry in scored}
    assert not [path.name for path in results_of() if path.name[0] in "._-"]


@pytest.mark.parametrize("model", ["", " ", "a\nb", "\x1b[31mred", "\udcff"])
@pytest.mark.parametrize("role", ["model", "judge"])
def test_a_model_without_a_usable_name_is_refused_before_anything_is_written(cli, data, model: str, role: str) -> None:
    if role == "judge" and not model.strip():
        pytest.skip("an empty judge is no judge")
    names = (model,) if role == "model" else ("m", "--judge-model", model)
    ended = cli("run", "local", *names, data, "--base-url", "http://127.0.0.1:9/v1")
    assert 2 == ended.status
    assert "name" in ended.err
    assert not Path("results").exists()


def test_file_names_in_messages_do_not_steer_the_terminal(cli, data: Path) -> None:
    (data / "folder\x1b]0;owned\x07").mkdir()
    ended = cli("run", "baseline", "majority", data / "folder\x1b]0;owned\x07")
    assert 2 == ended.status
    assert "\x1b" not in ended.err


@pytest.mark.slow
@pytest.mark.parametrize("value", [10**400, -(10**400), float("nan"), "\ud800", -3, "3", [], {}, None])
@pytest.mark.parametrize(
    "place",
    [
        ("aggregates", 0, "metrics", "composite", "mean"),
        ("aggregates", 0, "metrics", "composite", "ci_high"),
        ("aggregates", 0, "metrics", "composite", "n"),
        ("aggregates", 0, "pooled", "binary_om", "tp"),
        ("aggregates", 0, "pooled", "binary_om", "by_category", "regulating", "f1"),
        ("aggregates", 0, "coverage", "expected"),
        ("aggregates", 0, "em_model"),
        ("metadata", "settings", 0, "variants", 0, "parameters", "seed"),
        ("metadata", "judges"),
    ],
)
def test_no_value_in_a_scores_file_breaks_a_report(cli, scored: Path, place: tuple[str | int, ...], value) -> None:
    content: Any = json.loads(scored.read_text())
    inner = content
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    scored.write_text(json.dumps(content))
    for format, by in zip(FORMATS, ((), ("--by", "branch")) * 2, strict=True):
        ended = cli("report", "--format", format, "--all", *by)
        assert "bug" not in ended.err
        assert ended.status in (0, 2)


def test_a_result_with_numbers_beyond_all_floats_is_scored_and_reported(cli, scored: Path, data: Path) -> None:
    def poison(content: dict[str, Any]) -> None:
        content["parameters"] = {"temperature": "X", "seed": 10**400}
        content["usage"] = {"prompt_tokens": 10**400}

    change(results_of()[0], poison)
    results_of()[0].write_text(results_of()[0].read_text().replace('"X"', "1e999"))
    assert 0 == cli("score", "--ground-truth", data, "--resamples", "5").status
    assert 0 == cli("report", "--format", "json").status


@pytest.mark.parametrize(
    "damage",
    [
        {"turns": None},
        {"turns": [3]},
        {"turns": [{}]},
        {"turns": [{"turnNumber": []}]},
        {"turns": [{"turnNumber": 1}, {"turnNumber": 1}]},
        {"turns": [{"turnNumber": 1, "em_drafted_response": 5}]},
        {"turns": [{"turnNumber": 1, "em_drafted_response": "x", "em_draft_judge_scores_by_model": 5}]},
        {"judge_models": 5},
        {"judge_models": [[]]},
        {"judge_usage": [1]},
        {"judge_usage": {"prompt_tokens": "many"}},
        {"judge_api_cost": "much"},
    ],
)
def test_a_damaged_result_is_named_and_left_as_it_is(cli, data: Path, damage: dict[str, Any]) -> None:
    cli("run", "baseline", "majority", data, "-q")
    change(results_of()[0], lambda content: content.update(damage))
    before = results_of()[0].read_bytes()
    ended = cli("run", "baseline", "majority", data, "-q", "--judge-model", "random")
    assert 2 == ended.status
    assert "damaged" in ended.err
    assert "--replace" in ended.err
    assert before == results_of()[0].read_bytes()
    assert 0 == cli("run", "baseline", "majority", data, "-q", "--replace").status


def test_a_broken_list_of_skipped_conversations_stops_no_run(cli, data: Path) -> None:
    Path("results").mkdir()
    Path("results/_skipped_majority.json").write_text("[" * 100_000)
    assert 0 == cli("run", "baseline", "majority", data, "-q").status


def test_a_temperature_that_is_no_number_is_refused(cli, data: Path) -> None:
    ended = cli("run", "baseline", "majority", data, "--temperature", "inf")
    assert 2 == ended.status
    assert "--temperature" in ended.err
    assert not Path("results").exists()


def test_a_report_never_takes_the_place_of_data(cli, scored: Path, data: Path) -> None:
    conversation, result = sorted(data.glob("conversation_*.json"))[0], results_of()[0]
    cli("score", "--ground-truth", data, "--resamples", "5", "-o", "other.json")
    for target, kind in ((conversation, "a conversation"), (result, "a result"), (Path("other.json"), "a scores file")):
        before = target.read_bytes()
        for command in (("stats", "scores.json"), ("subset-report", "--where", "turns >= 1")):
            ended = cli(*command, "-o", target)
            assert (2, "") == (ended.status, ended.out), ended.err
        ended = cli("stats", "scores.json", "-o", target)
        assert f"is {kind} and was not overwritten" in ended.err
        assert before == target.read_bytes()


def test_a_report_takes_the_place_of_an_older_report(cli, scored: Path) -> None:
    for form in ("json", "markdown", "json"):
        assert 0 == cli("stats", "scores.json", "-f", form, "-o", "report.json").status


def test_a_report_in_json_never_lies_among_conversations(cli, scored: Path, data: Path) -> None:
    for command in (("stats", "scores.json"), ("subset-report", "--where", "turns >= 1")):
        ended = cli(*command, "-f", "json", "-o", data / "report.json")
        assert 2 == ended.status
        assert "is in a conversations folder" in ended.err
    assert not (data / "report.json").exists()
