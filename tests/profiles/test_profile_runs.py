"""Asking a server for profiles: once for each conversation, resumed like any run, and no result of the benchmark."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from factory import write_conversations
from keys import KEY
from pydantic import SecretStr
from reading import load_results

import attunebench
from attunebench.analyses.base import Settings
from attunebench.conversations.traits import TRAITS
from attunebench.errors import DataError, UsageError
from attunebench.profiles import predict_profiles, score_profiles
from attunebench.runner import ModelSettings, RunSettings, RunSummary, pacing
from attunebench.runner.reparse import reparse_results
from attunebench.selftest.server import Answer, Asked, Behaviour, FakeServer, Status

CONVERSATIONS = 3
Predict = Callable[..., RunSummary]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_conversations(tmp_path / "data", CONVERSATIONS, seed=3, turns=2)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "profiles"


def settings(server: FakeServer, folder: Path, **values: Any) -> RunSettings:
    em = ModelSettings(provider="local", model="fake-model", base_url=server.url, api_key=SecretStr(KEY))
    return RunSettings(em=em, output=folder, **{"max_tries": 2, **values})


@pytest.fixture
def predict(data: Path, server: FakeServer, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Predict:
    """`predict(temperature=…)`: one run of `fake-model` into `folder`."""
    monkeypatch.setattr(pacing, "FIRST_BACKOFF", 0.02)

    def call(**values: Any) -> RunSummary:
        conversations = list(attunebench.load_conversations(data))
        return predict_profiles(conversations, settings(server, folder, **values), run_again="the same command")

    return call


def files(folder: Path) -> dict[str, dict[str, Any]]:
    return {path.name: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("[!_]*.json"))}


def test_one_call_and_one_file_for_each_conversation(predict: Predict, server: FakeServer, folder: Path) -> None:
    summary = predict()
    assert (CONVERSATIONS, CONVERSATIONS) == (summary.written, len(server.bodies))
    found = files(folder)
    assert {f"{content['conversationId']}_local_fake-model_profile.json" for content in found.values()} == set(found)
    for content in found.values():
        assert [trait.id for trait in TRAITS] == list(content["predicted_profile"])
        assert ("profile", True) == (content["task"], content["experimental"])
        assert (1, len(TRAITS), len(TRAITS)) == tuple(
            content["calls"][name] for name in ("made", "answered_items", "expected_items")
        )


def test_a_file_holds_no_truth(predict: Predict, folder: Path, data: Path) -> None:
    predict()
    truths = [json.loads(path.read_text(encoding="utf-8"))["participant_profile"] for path in data.glob("*.json")]
    text = "".join(path.read_text(encoding="utf-8") for path in folder.glob("[!_]*.json"))
    assert [] == [truth["participant_id"] for truth in truths if truth["participant_id"] in text]
    assert "computed_scores" not in text


def test_the_same_command_again_asks_nothing(predict: Predict, server: FakeServer, folder: Path) -> None:
    predict()
    before = files(folder)
    summary = predict()
    assert (0, CONVERSATIONS) == (summary.written, summary.complete_before)
    assert (CONVERSATIONS, before) == (len(server.bodies), files(folder))


def test_a_reply_that_was_paid_for_is_not_asked_again(predict: Predict, server: FakeServer, folder: Path) -> None:
    predict()
    for path in folder.glob("[!_]*.json"):
        path.unlink()
    assert CONVERSATIONS == predict().written
    assert CONVERSATIONS == len(server.bodies)


def test_corrected_profiles_ask_nothing_anew(predict: Predict, server: FakeServer, data: Path) -> None:
    predict()
    for path in data.glob("*.json"):
        raw = json.loads(path.read_text(encoding="utf-8"))
        raw["participant_profile"]["computed_scores"]["who_5"] = 25
        raw["participant_profile"]["computed_scores"]["asrs_6"] = 20
        path.write_text(json.dumps(raw), encoding="utf-8")
    assert (0, CONVERSATIONS) == (predict().written, len(server.bodies))


def test_other_settings_stop_the_run_before_anything_is_asked(predict: Predict, server: FakeServer) -> None:
    predict()
    with pytest.raises(DataError, match="temperature"):
        predict(temperature=0.7)
    assert CONVERSATIONS == len(server.bodies)


def test_what_is_missing_is_asked_for_once_more_by_name(predict: Predict, server: FakeServer, folder: Path) -> None:
    def script(asked: Asked) -> Behaviour:
        again = "had no readable value for" in asked.prompt
        return Answer() if again else Answer(text='{"predicted_profile": {"who_5": "poor"}}')

    server.script = script
    summary = predict()
    assert CONVERSATIONS == summary.reasks
    assert all("poor" == content["predicted_profile"]["who_5"] for content in files(folder).values())
    assert all(len(TRAITS) == len(content["predicted_profile"]) for content in files(folder).values())
    asked_again = [body["messages"][-1]["content"] for body in server.bodies if "no readable" in str(body)]
    assert all("predicted_profile (diagnosis_groups, promis_anxiety" in text for text in asked_again)


def test_a_broken_line_skips_and_is_made_up_for_later(predict: Predict, server: FakeServer, folder: Path) -> None:
    server.script = [Status(500)]
    summary = predict()
    assert (0, CONVERSATIONS) == (summary.written, len(summary.skipped) + summary.unreached)
    skipped = list(folder.glob("_*skipped_*.json"))
    server.script = None
    assert CONVERSATIONS == predict().written
    assert [] == [path for path in skipped if path.exists()]


def test_a_refusal_is_no_answer_and_no_broken_line(predict: Predict, server: FakeServer, folder: Path) -> None:
    server.script = [Answer(text="", message={"refusal": "I will not guess."})]
    assert CONVERSATIONS == predict().written
    assert all(content["predicted_profile"] == {} for content in files(folder).values())
    assert all(content["calls"]["refused"] == 1 for content in files(folder).values())


def test_what_was_refused_is_asked_again_where_that_is_wanted(
    predict: Predict, server: FakeServer, folder: Path
) -> None:
    server.script = [Answer(text="", message={"refusal": "I will not guess."})]
    predict()
    server.script = None
    assert (0, CONVERSATIONS) == (predict().written, len(server.bodies))
    assert CONVERSATIONS == predict(retry_unanswered=True).written
    assert all(len(TRAITS) == len(content["predicted_profile"]) for content in files(folder).values())


def test_judges_and_other_modes_are_no_part_of_it(data: Path, server: FakeServer, folder: Path) -> None:
    em = settings(server, folder).em
    for other in (settings(server, folder, judges=(em,)), settings(server, folder, modes=("omniscient",))):
        with pytest.raises(UsageError):
            predict_profiles(list(attunebench.load_conversations(data)), other)


def test_nothing_that_reads_results_takes_it_for_one(predict: Predict, data: Path, folder: Path) -> None:
    predict()
    found = load_results(folder)
    assert ((), []) == (found.results, found.unreadable)
    assert set(files(folder)) <= set(found.profiles)
    with pytest.raises(DataError, match="3 predicted profiles but no benchmark results"):
        attunebench.score(folder, data)


def test_reparse_passes_over_it(predict: Predict, data: Path, folder: Path) -> None:
    from attunebench.codebook import default_codebook

    predict()
    before = files(folder)
    summary = reparse_results(folder, attunebench.load_conversations(data), default_codebook())
    assert (0, 0, {}) == (summary.unchanged, summary.changed.total(), summary.left)
    assert before == files(folder)


def test_run_and_predict_share_a_folder_without_taking_each_other_s_results(
    predict: Predict, data: Path, server: FakeServer, folder: Path
) -> None:
    attunebench.run(data, settings(server, folder))
    results = files(folder)
    assert CONVERSATIONS == predict().written
    profiles = {name: content for name, content in files(folder).items() if name not in results}
    assert CONVERSATIONS == len(profiles)
    again = attunebench.run(data, settings(server, folder))
    assert (0, CONVERSATIONS) == (again.written, again.complete_before)
    assert {**results, **profiles} == files(folder)
    scores = attunebench.score(folder, data)
    assert CONVERSATIONS == scores["metadata"]["n_results"]
    assert sorted(profiles) == sorted(entry["file"] for entry in scores["left_out"]["profiles"])


def test_only_the_predictions_of_the_model_are_scored(predict: Predict, data: Path, folder: Path) -> None:
    predict()
    conversations = list(attunebench.load_conversations(data))
    with pytest.raises(DataError, match="it contains those of local fake-model"):
        score_profiles(folder, conversations, "local", "other-model")
    with pytest.raises(DataError, match="There is no folder"):
        score_profiles(folder / "nowhere", conversations, "local", "fake-model")


def test_a_prediction_that_is_there_twice_is_not_scored(predict: Predict, data: Path, folder: Path) -> None:
    predict()
    path = next(folder.glob("[!_]*.json"))
    (folder / "copy.json").write_bytes(path.read_bytes())
    conversations = list(attunebench.load_conversations(data))
    analysis, not_scored = score_profiles(folder, conversations, "local", "fake-model", Settings(resamples=100))
    assert 1 == len(not_scored)
    assert "copy.json" in not_scored[0]
    assert any("2 of 3 conversations have a prediction" in warning for warning in analysis.warnings)
