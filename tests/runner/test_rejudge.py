"""Drafts of results that are there, judged by more judges or again: what is asked, what changes, what is paid once."""

from __future__ import annotations

import json
import shutil
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from keys import KEY
from pydantic import SecretStr

import attunebench
from attunebench.conversations import load_conversations
from attunebench.errors import ConfigurationError, DataError, UsageError
from attunebench.journal import claim
from attunebench.runner import ModelSettings, Observer, RunSettings, RunSummary
from attunebench.runner.rejudge import RejudgeSummary, rejudge_settings
from attunebench.selftest.answers import answer_text
from attunebench.selftest.server import Answer, Asked, Behaviour, FakeServer, Status

T = 3
Run = Callable[..., RunSummary]
Rejudge = Callable[..., RejudgeSummary]
VOTES = frozenset(
    (
        *(f"em_draft_{what}{suffix}" for what in ("judge_scores", "binary_assessment") for suffix in ("", "_by_model")),
        "em_draft_judge_scale_by_model",
    )
)
JUDGES_OWN = frozenset(
    ("judge_models", "judge_usage", "judge_api_cost", "judge_calls_sha256_quality", "scores", "rejudged")
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "results"


@pytest.fixture
def rejudge(data: Path, server: FakeServer, folder: Path) -> Rejudge:
    """`rejudge("judge", "second", replace=True, …)` over `data` and `results`."""

    def call(*judges: str, models: tuple[str, ...] = (), modes: tuple[Any, ...] = (), **values: Any) -> RejudgeSummary:
        where = values.pop("url", server.url)
        asked = [
            ModelSettings(provider="local", model=judge, base_url=where, api_key=SecretStr(KEY)) for judge in judges
        ]
        settings = rejudge_settings(values.pop("results", folder), asked, **{"max_tries": 3, **values})
        return attunebench.rejudge(data, settings, models=models, modes=modes)

    return call


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("[!_.]*.json"))}


def read(folder: Path) -> dict[str, dict[str, Any]]:
    return {name: json.loads(data.decode("utf-8-sig")) for name, data in files(folder).items()}


def asked(server: FakeServer) -> Counter[str]:
    return Counter(body["model"] for body in server.bodies)


def members(value: dict[str, Any], without: frozenset[str]) -> list[str]:
    """The members of an object as texts, in their order, without those that votes may touch."""
    return [json.dumps([key, item]) for key, item in value.items() if key not in without]


def votes(folder: Path) -> dict[str, list[Any]]:
    return {name: [{key: turn.get(key) for key in VOTES} for turn in r["turns"]] for name, r in read(folder).items()}


def edit(folder: Path, change: Callable[[dict[str, Any]], object], **layout: Any) -> None:
    for path in folder.rglob("[!_.]*.json"):
        result = json.loads(path.read_text("utf-8"))
        change(result)
        path.write_text(json.dumps(result, **layout), "utf-8")


def test_each_draft_is_judged_once_and_the_evaluated_model_is_not_asked(
    run: Run, rejudge: Rejudge, server: FakeServer, folder: Path
) -> None:
    run()
    server.asked.clear()
    summary = rejudge("judge", "second")
    assert {"judge": 2 * T, "second": 2 * T} == asked(server)
    assert (4 * T, 0, 2) == (summary.added, summary.replaced, summary.run.written)
    for result in read(folder).values():
        assert ["judge", "second"] == result["judge_models"]
        assert all(["judge", "second"] == list(t["em_draft_judge_scores_by_model"]) for t in result["turns"])
        assert all(t["em_draft_judge_scores"] == t["em_draft_judge_scores_by_model"]["judge"] for t in result["turns"])


def test_a_judges_thoughts_are_no_votes(run: Run, rejudge: Rejudge, server: FakeServer, folder: Path) -> None:
    run()
    rejudge("judge")
    plain = votes(folder)
    server.script = lambda asked: Answer(f'<seed:think>{{"overall_score": 1}}</seed:think>{answer_text(asked)}')
    rejudge("judge", replace=True, temperature=0.5)
    assert votes(folder) == plain
    assert all(turn["em_draft_judge_scores"] for result in plain.values() for turn in result)


def test_nothing_else_in_a_file_changes(run: Run, rejudge: Rejudge, folder: Path) -> None:
    run(judges=("judge",))
    edit(folder, lambda r: r.update(mine={"b": 1.50, "a": [1e5, "\u00fc"]}, zz=None), indent=1)
    before = read(folder)
    rejudge("second")
    for name, result in read(folder).items():
        old = before[name]
        assert members(old, JUDGES_OWN | {"turns"}) == members(result, JUDGES_OWN | {"turns"})
        assert [members(turn, VOTES) for turn in old["turns"]] == [members(turn, VOTES) for turn in result["turns"]]
        assert [k for k in old if k != "rejudged"] == [k for k in result if k != "rejudged"]


def test_judged_later_a_result_is_the_one_that_a_run_with_the_judge_makes(
    run: Run, rejudge: Rejudge, server: FakeServer, folder: Path, tmp_path: Path
) -> None:
    run(judges=("judge", "second"), output=tmp_path / "at once")
    run()
    rejudge("judge")
    rejudge("second")
    for name, result in read(folder).items():
        at_once = read(tmp_path / "at once")[name]
        assert 2 == len(result.pop("rejudged"))
        for changing in ("run_timestamp", "duration_seconds"):
            result[changing] = at_once[changing]
        assert at_once == result
    server.asked.clear()
    run(judges=("judge", "second"))
    assert [] == server.bodies


def test_the_file_says_how_its_votes_were_made(run: Run, rejudge: Rejudge, folder: Path) -> None:
    run()
    rejudge("judge", temperature=0.5, seed=3)
    for result in read(folder).values():
        [note] = result["rejudged"]
        assert {"judge": "local"} == note["judge_providers"]
        assert (0.5, 3) == (note["parameters"]["temperature"], note["parameters"]["seed"])
        assert (T, 0) == (note["votes"], note["replaced"])


def test_replace_asks_again_what_would_be_asked_otherwise_and_says_how_many_changed(
    run: Run, rejudge: Rejudge, server: FakeServer, folder: Path
) -> None:
    run(judges=("judge", "other"))
    before = votes(folder)
    server.asked.clear()
    server.script = lambda _: Answer(text='{"overall_score": 7}')
    summary = rejudge("judge", replace=True, temperature=0.7, max_reasks=0)
    assert {"judge": 2 * T} == asked(server)
    assert (0, 2 * T, 2 * T, 0) == (summary.added, summary.replaced, summary.changed, summary.kept)
    for name, turns in votes(folder).items():
        for old, new in zip(before[name], turns, strict=True):
            scores = new["em_draft_judge_scores_by_model"]
            assert old["em_draft_judge_scores_by_model"]["other"] == scores["other"]
            assert {"overall_score": 7} == scores["judge"] == new["em_draft_judge_scores"]
    server.asked.clear()
    again = rejudge("judge", replace=True, temperature=0.7, max_reasks=0)
    assert [] == server.bodies
    assert (2 * T, 0, 0) == (again.replaced, again.changed, again.run.written)


def test_replace_reads_votes_that_the_journal_has_again_and_asks_nobody(
    run: Run, rejudge: Rejudge, server: FakeServer, folder: Path
) -> None:
    run(judges=("judge",))
    before = votes(folder)
    lost = {"em_draft_judge_scores": {}, "em_draft_judge_scores_by_model": {"judge": {}}}
    edit(folder, lambda r: r["turns"][1].update(lost))
    server.asked.clear()
    assert 2 == rejudge("judge", replace=True).changed
    assert ([], before) == (server.bodies, votes(folder))


def test_an_answer_that_cannot_be_used_takes_no_older_votes_place(
    run: Run, rejudge: Rejudge, server: FakeServer, folder: Path
) -> None:
    run(judges=("judge",))
    before = votes(folder)
    server.script = lambda _: Answer(text="I would rather not.")
    summary = rejudge("judge", replace=True, temperature=0.7)
    assert (0, 2 * T) == (summary.replaced, summary.kept)
    assert before == votes(folder)
    assert 3 * T < next(iter(read(folder).values()))["judge_usage"]["prompt_tokens"]


def test_a_vote_without_an_answer_is_cast_and_asked_again_on_request_alone(
    run: Run, rejudge: Rejudge, server: FakeServer, folder: Path
) -> None:
    run()
    server.script = lambda _: Answer(text="I would rather not.")
    rejudge("judge")
    server.script = None
    server.asked.clear()
    assert 0 == rejudge("judge").added
    assert [] == server.bodies
    summary = rejudge("judge", retry_unanswered=True)
    assert 2 * T == len(server.bodies)
    assert (2 * T, 2 * T) == (summary.replaced, summary.changed)
    assert all(turn["em_draft_judge_scores"] for result in read(folder).values() for turn in result["turns"])


def test_what_judging_again_bought_a_run_does_not_buy_again_and_the_other_way_round(
    run: Run, rejudge: Rejudge, server: FakeServer, folder: Path
) -> None:
    run()
    unjudged = files(folder)
    rejudge("judge", "second")
    judged = votes(folder)
    for name, data in unjudged.items():
        (folder / name).write_bytes(data)
    server.asked.clear()
    run(judges=("judge", "second"))
    assert [] == server.bodies
    assert judged == votes(folder)
    for name, data in unjudged.items():
        (folder / name).write_bytes(data)
    summary = rejudge("judge", "second")
    assert [] == server.bodies
    assert (4 * T, 4 * T) == (summary.added, summary.run.spending.replayed)
    assert judged == votes(folder)


@pytest.mark.parametrize("judges", [("second",), ("second", "judge"), ("new", "second", "judge")])
def test_a_vote_is_found_in_the_journal_whatever_place_its_judge_had(
    run: Run, rejudge: Rejudge, server: FakeServer, folder: Path, judges: tuple[str, ...]
) -> None:
    run()
    unjudged = files(folder)
    rejudge("judge", "second")
    for name, data in unjudged.items():
        (folder / name).write_bytes(data)
    server.asked.clear()
    rejudge(*judges)
    assert ({"new": 2 * T} if "new" in judges else {}) == asked(server)
    server.asked.clear()
    for name, data in unjudged.items():
        (folder / name).write_bytes(data)
    rejudge(*judges)
    assert {} == asked(server)


@pytest.mark.parametrize("trouble", [Status(500), Status(422, {"error": "The gateway dislikes this"})])
def test_votes_that_fail_are_owed_the_others_are_cast_and_the_same_call_gets_them(
    trouble: Status, run: Run, rejudge: Rejudge, server: FakeServer, data: Path
) -> None:
    run()
    talk = load_conversations(data).conversations[0].turns[1].user_message
    server.script = lambda asked: trouble if talk in asked.prompt and len(server.bodies) > 1 else Answer()
    summary = rejudge("judge", max_tries=1, concurrency=1)
    owed = summary.run.votes_owed
    assert (True, 2 * T - owed) == (0 < owed < T, summary.added)
    server.script = None
    server.asked.clear()
    assert owed == rejudge("judge").added == len(server.bodies)


def test_every_model_and_mode_of_a_folder_is_judged_and_names_narrow_it(
    run: Run, rejudge: Rejudge, server: FakeServer, folder: Path, data: Path
) -> None:
    run(modes=("default", "verbose"))
    attunebench.run(data, RunSettings(em=ModelSettings(provider="baseline", model="majority"), output=folder))
    assert (T * 2, 2) == (
        rejudge("a", models=("local/fake-model",), modes=("verbose",)).added,
        rejudge("a", models=("MAJORITY",)).run.written,
    )
    server.asked.clear()
    assert (2 * T, 4) == ((summary := rejudge("a")).added, summary.run.complete_before)
    assert {"a": 2 * T} == asked(server)
    with pytest.raises(UsageError, match="no result of a model nobody; there is"):
        rejudge("a", models=("nobody",))


def test_a_limit_takes_the_first_conversations_of_the_run_order(run: Run, rejudge: Rejudge, folder: Path) -> None:
    run(modes=("default", "verbose"))
    assert 2 * T == rejudge("judge", limit=1).added
    judged = {result["conversationId"] for result in read(folder).values() if result["judge_models"]}
    assert 1 == len(judged)


def test_judged_results_are_kept_out_of_a_run_and_a_running_model_out_of_judging(
    run: Run, rejudge: Rejudge, folder: Path
) -> None:
    run()
    with claim(folder, "local", "fake-model", ["default"]), pytest.raises(DataError, match="Another process"):
        rejudge("judge")
    refused: list[str] = []

    def try_to_run() -> None:
        with pytest.raises(DataError, match="Another process") as told:
            run(replace=True)
        refused.append(str(told.value))

    class Meanwhile(Observer):
        def started(self, plan: object) -> None:
            thread = threading.Thread(target=try_to_run)
            thread.start()
            thread.join()

    settings = rejudge_settings(folder, [ModelSettings(provider="baseline", model="majority")])
    attunebench.rejudge(folder.parent / "data", settings, observer=Meanwhile())
    assert 1 == len(refused)


def test_what_cannot_be_judged_is_named_and_left(run: Run, rejudge: Rejudge, server: FakeServer, folder: Path) -> None:
    run(modes=("default", "verbose", "omniscient", "verbose_omniscient"))
    paths = sorted(folder.glob("[!_.]*.json"))
    changes: list[Callable[[dict[str, Any]], object]] = [
        lambda r: r.update(conversationId="gone"),
        lambda r: r.update(mode="shouting"),
        lambda r: [turn.pop("em_drafted_response") for turn in r["turns"]],
        lambda r: r["turns"][0].update(em_draft_judge_scores_by_model=["judge"]),
        lambda r: r["turns"][0].update(em_drafted_response=None),
        lambda r: r["turns"].append({"turnNumber": 9, "em_drafted_response": "Oh."}),
    ]
    for path, change in zip(paths, changes, strict=False):
        result = json.loads(path.read_text())
        change(result)
        path.write_text(json.dumps(result))
    (folder / "copy.json").write_bytes(paths[6].read_bytes())
    (folder / "broken.json").write_text('{"em_model": ')
    before = files(folder)
    server.asked.clear()
    summary = rejudge("judge")
    left = {name: before[name] for name in summary.left}
    assert left == {name: data for name, data in files(folder).items() if name in left}
    assert {*(paths[place].name for place in (0, 1, 2, 3, 6)), "copy.json", "broken.json"} == set(summary.left)
    assert {paths[4].name: (1,)} == summary.without_draft
    assert {paths[5].name: (9,)} == summary.other_turns
    assert 3 * T - 1 == len(server.bodies) == summary.added


def test_results_of_another_conversation_text_are_left(run: Run, rejudge: Rejudge, data: Path) -> None:
    run()
    path = sorted(data.rglob("*.json"))[0]
    conversation = json.loads(path.read_text("utf-8"))
    conversation["turns"][0]["userMessage"] = "Something else entirely."
    path.write_text(json.dumps(conversation), "utf-8")
    summary = rejudge("judge")
    assert ["it was made from different conversation texts"] == list(summary.left.values())
    assert T == summary.added


def test_a_model_that_drafted_nothing_at_all_is_judged_worth_nothing(run: Run, rejudge: Rejudge, folder: Path) -> None:
    """A model that never drafts must not come off better, by having no value, than one whose drafts are bad."""
    run()
    edit(folder, lambda r: [turn.update(em_drafted_response=None) for turn in r["turns"]])
    summary = rejudge("judge")
    assert (0, 2) == (summary.added, summary.run.written)
    assert {0.0} == {result["scores"]["draft_judge"] for result in read(folder).values()}
    assert 2 == rejudge("judge").run.complete_before


def foreign(result: dict[str, Any]) -> dict[str, Any]:
    """A result as other tools leave it: little beside drafts, and one judge's votes in fields of its own."""
    return {
        "turns": [
            {
                "em_drafted_response": turn["em_drafted_response"],
                "em_draft_judge_scores": {"overall_score": 6, "comment": "fine"},
                "em_draft_binary_assessment": {"B1": "yes"},
            }
            for turn in result["turns"]
        ],
        "em_model": "elsewhere",
        "conversationId": result["conversationId"],
        "scores": {"theirs": 0.123456789012345678},
    }


def test_results_from_elsewhere_keep_their_single_judge_and_all_that_they_hold(
    run: Run, rejudge: Rejudge, folder: Path, tmp_path: Path
) -> None:
    run()
    theirs = tmp_path / "theirs" / "deep"
    theirs.mkdir(parents=True)
    for name, result in read(folder).items():
        text = json.dumps(foreign(result), separators=(",", ":"))
        (theirs / name).write_bytes(b"\xef\xbb\xbf" + text.encode())
    before = read(theirs)
    summary = rejudge("judge", results=tmp_path / "theirs")
    assert (2 * T, 2) == (summary.added, summary.foreign)
    for name, result in read(theirs).items():
        assert before[name]["scores"] == result["scores"]
        assert ["unknown", "judge"] == result["judge_models"]
        for old, turn in zip(before[name]["turns"], result["turns"], strict=True):
            assert {"overall_score": 6, "comment": "fine"} == turn["em_draft_judge_scores_by_model"]["unknown"]
            assert old == {key: turn[key] for key in old}
            assert {"B1": "yes"} == turn["em_draft_binary_assessment_by_model"]["unknown"]
            assert turn["em_draft_judge_scores_by_model"]["judge"]
    assert 2 == rejudge("judge", results=tmp_path / "theirs").run.complete_before


@pytest.mark.parametrize("number", ["NaN", "1e400", "1" * 40])
def test_a_file_with_a_number_that_would_be_lost_is_left(number: str, run: Run, rejudge: Rejudge, folder: Path) -> None:
    run(limit=1)
    [path] = folder.glob("[!_.]*.json")
    path.write_text(path.read_text("utf-8").replace("{", '{"theirs": ' + number + ",", 1), "utf-8")
    before = files(folder)
    assert [path.name] == list(rejudge("judge").left)
    assert before == files(folder)


def test_a_file_that_somebody_edits_meanwhile_is_left_and_its_votes_are_not_bought_again(
    run: Run, rejudge: Rejudge, server: FakeServer, folder: Path
) -> None:
    run()
    path = sorted(folder.glob("[!_.]*.json"))[0]

    def touching(asked: Asked) -> Behaviour:
        path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | {"note": asked.prompt}), "utf-8")
        return Answer()

    server.script = touching
    summary = rejudge("judge", concurrency=1)
    assert {
        path.name: "it was changed while its drafts were judged; rerun the command to add the votes"
    } == summary.left
    assert T == summary.added  # those of the other file
    server.script = None
    server.asked.clear()
    assert T == rejudge("judge").added
    assert [] == server.bodies


def test_a_bound_on_money_stops_it_and_the_same_call_goes_on(run: Run, rejudge: Rejudge, server: FakeServer) -> None:
    run()
    prices = {"judge_price_in": 1000.0, "judge_price_out": 1000.0, "max_tokens": 100}
    summary = rejudge("judge", max_cost=12.0, concurrency=1, **prices)
    assert "max-cost" == summary.run.stopped
    assert 0 < summary.run.unreached <= 2
    paid = summary.run.calls
    assert 2 * T == paid + rejudge("judge", **prices).run.spending.judges.replies


def test_judges_are_told_apart_and_needed(run: Run, rejudge: Rejudge) -> None:
    run()
    with pytest.raises(UsageError, match="No judge is named"):
        rejudge()
    with pytest.raises(UsageError, match="given twice"):
        rejudge("judge", "judge")


def test_a_folder_without_results_is_an_error(rejudge: Rejudge, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="There is no result in"):
        rejudge("judge", results=tmp_path / "empty")


def test_a_copy_of_a_folder_without_its_journal_is_judged_all_the_same(
    run: Run, rejudge: Rejudge, folder: Path, tmp_path: Path
) -> None:
    run()
    shutil.copytree(folder, tmp_path / "copy", ignore=shutil.ignore_patterns("_calls*", ".*"))
    assert 2 * T == rejudge("judge", results=tmp_path / "copy").added


@pytest.mark.parametrize(
    "trouble",
    [
        Status(422, {"error": "The gateway dislikes this"}),
        Status(429, {"error": "Insufficient balance"}),
        Status(429, {"error": "Too many"}, {"retry-after": "40000"}),
        Status(200, "nonsense"),
    ],
    ids=["rejected", "money", "a long wait", "unreadable"],
)
def test_a_judge_of_whom_nothing_can_be_had_ends_the_judging(
    trouble: Status, run: Run, rejudge: Rejudge, server: FakeServer, folder: Path
) -> None:
    run()
    server.script = lambda _: trouble
    with pytest.raises(ConfigurationError):
        rejudge("judge", structured="text", max_tries=8)
