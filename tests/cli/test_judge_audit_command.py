"""`judge-audit` as a user meets it: what is asked, what is written, what `report` then says, and how it ends."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from batch_server import BatchServer
from factory import write_conversations
from keys import KEY

import attunebench
from attunebench.arena.auditing import RatingWork, make_arena, rated_verdicts
from attunebench.arena.folder import Arena
from attunebench.codebook import default_codebook
from attunebench.conversations import load_conversations
from attunebench.protocol.plan import plan_conversation, with_draft
from attunebench.runner import ModelSettings, RunSettings
from attunebench.runner.rejudge import rejudge_settings
from attunebench.scores.audits import MARK, read_audit
from attunebench.selftest.answers import varied_text
from attunebench.selftest.behaviours import Asked, Behaviour
from attunebench.selftest.server import Answer, FakeServer, Status

N, T = 3, 2
LOCAL = ("--judge", "local:judge", "--api-key", KEY)


def _answers(asked: Asked) -> Behaviour:
    return Answer(text=varied_text(asked)) if asked.path.endswith("/chat/completions") else Answer()


@pytest.fixture
def server() -> Iterator[FakeServer]:
    """A judge whose answers depend on the prompt alone."""
    with FakeServer(_answers, models=("judge",)) as server:
        yield server


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`data`, and `results` whose drafts the baseline `random` has rated."""
    folder = tmp_path_factory.mktemp("judged")
    write_conversations(folder / "data", N, seed=3, turns=T)
    em, judge = (ModelSettings(provider="baseline", model=name) for name in ("majority", "random"))
    attunebench.run(folder / "data", RunSettings(em=em, judges=(judge,), output=folder / "results"))
    return folder


@pytest.fixture
def audit(judged: Path, cli: Callable[..., Any]) -> Callable[..., Any]:
    """`audit("--judge", …)` in a folder with `data` and `results`."""
    shutil.copytree(judged, Path.cwd(), dirs_exist_ok=True)
    return lambda *words: cli("judge-audit", "-d", "data", "--resamples", "100", *words)


def lines(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]


def chosen() -> dict[str, int]:
    """Pair → +1 where the participant chose the earlier of original, alternate and edited; from the files alone."""
    order = ["original", "alternate", "human"]
    found = {}
    for file in Path("data").glob("*.json"):
        content = json.loads(file.read_text("utf-8"))
        for turn in content["turns"]:
            for one in turn["annotations"]["pairwiseComparisons"]:
                two = sorted((one["responseA"], one["responseB"]), key=order.index)
                winner = one["responseA" if one["winner"] == "A" else "responseB"]
                names = "-".join(two).replace("human", "edited")
                if one["questionId"] == "general":
                    found[f"{content['conversationId']}/{turn['turnNumber']}/{names}"] = 1 if winner == two[0] else -1
    return found


def test_pairwise_verdicts_are_counted_against_the_participants(audit: Callable[..., Any], server: FakeServer) -> None:
    ended = audit(*LOCAL, "--base-url", server.url)
    assert ended.status == 0
    assert len(server.bodies) == 6 * N * T
    said: dict[str, list[int]] = {}
    for one in lines("judge-audit/pairwise/verdicts/judge.jsonl"):
        said.setdefault(one["pair"], []).append(one["preference"])
    points = []
    for pair, winner in chosen().items():
        side = sum(said[pair]) if not min(said[pair]) < 0 < max(said[pair]) else 0
        points.append(0.5 if side == 0 else float((side > 0) == (winner > 0)))
    [found] = read_audit(Path("judge-audit/pairwise/audit.json"))
    assert (found.agreement, found.n) == (pytest.approx(sum(points) / len(points)), 3 * N * T)


@pytest.mark.parametrize(("task", "calls"), [("pairwise", 6), ("rating", 3)])
def test_the_limit_holds_for_a_second_judge_too(
    audit: Callable[..., Any], server: FakeServer, task: str, calls: int
) -> None:
    audit("--judge", "baseline:random", "--task", task)
    for n in (1, 2):
        audit(*LOCAL, "--base-url", server.url, "--task", task, "--limit", str(n))
        assert len(server.bodies) == calls * T * n


def test_ratings_are_counted_by_their_difference(audit: Callable[..., Any], server: FakeServer) -> None:
    assert audit(*LOCAL, "--base-url", server.url, "--task", "rating").status == 0
    assert len(server.bodies) == 3 * N * T
    given = {(one["history"], one["author"]): one["ratings"] for one in lines("judge-audit/rating/ratings/judge.jsonl")}
    mean = {key: sum(values.values()) / len(values) for key, values in given.items()}
    points = []
    for pair, winner in chosen().items():
        history, _, names = pair.rpartition("/")
        left, right = (mean[history, author] for author in names.split("-"))
        points.append(0.5 if left == right else float((left > right) == (winner > 0)))
    [found] = read_audit(Path("judge-audit/rating/audit.json"))
    assert (found.agreement, found.scale) == (pytest.approx(sum(points) / len(points)), "quality")


@pytest.mark.parametrize("task", ["pairwise", "rating"])
def test_the_same_command_again_asks_nothing_and_says_the_same(
    audit: Callable[..., Any], server: FakeServer, task: str
) -> None:
    words = (*LOCAL, "--base-url", server.url, "--task", task)
    first, asked = audit(*words), len(server.bodies)
    written = Path(f"judge-audit/{task}/audit.json").read_bytes()
    assert audit(*words).out == audit("--task", task, "--report-only").out == first.out
    assert len(server.bodies) == asked
    assert Path(f"judge-audit/{task}/audit.json").read_bytes() == written


def test_a_rating_is_asked_for_by_the_very_prompt_of_the_draft_judge(judged: Path, tmp_path: Path) -> None:
    conversations, book = list(load_conversations(judged / "data")), default_codebook()
    make_arena(tmp_path, conversations, "rating")
    settings = rejudge_settings(tmp_path, [ModelSettings(provider="baseline", model="random")])
    work = RatingWork(tmp_path, settings, conversations, book)
    planned = {one.key: one.call.messages for key in [*work.keys()] for one in work.plan(key)}
    talk = conversations[0]
    calls = plan_conversation(talk, "default", book, judges=1)
    wanted = {
        (f"{talk.conversation_id}/{call.turn}", author): with_draft(call, text or "").messages
        for call in calls
        if call.kind == "judge"
        for author, text in zip(
            ("original", "alternate", "edited"), talk.turns[call.turn - 1].variants.values(), strict=True
        )
    }
    assert {key: planned[key] for key in wanted} == wanted


@pytest.mark.parametrize("page", [("--width", "140"), pytest.param(("-f", "html", "-o", "-"), marks=pytest.mark.slow)])
def test_report_finds_the_audit_and_marks_what_did_not_pass(
    audit: Callable[..., Any], cli: Callable[..., Any], page: tuple[str, ...]
) -> None:
    cli("score", "--results", "results", "-d", "data", "-o", "scores.json")
    before = cli("report", *page).out
    assert MARK in before
    assert "not audited" in before
    audit("--judge", "baseline:random", "--task", "rating")
    [found] = read_audit(Path("judge-audit/rating/audit.json"))
    assert not found.passed
    after = " ".join(cli("report", *page).out.split())
    assert MARK in after
    assert found.text in after
    assert "not audited" not in after


@pytest.mark.parametrize(
    "words", [("analyze", "composite-variants"), ("compare", "--metric", "draft_judge"), ("stats",), ("rejudge",)]
)
def test_what_shows_judged_scores_says_that_they_are_not_validated(
    audit: Callable[..., Any], cli: Callable[..., Any], words: tuple[str, ...]
) -> None:
    em, judge = (ModelSettings(provider="baseline", model=name) for name in ("lexicon", "random"))
    attunebench.run("data", RunSettings(em=em, judges=(judge,), output=Path("results")))
    cli("score", "--results", "results", "-d", "data", "-o", "scores.json")
    more = {
        "stats": ("scores.json", "--model", "lexicon", "--full"),
        "rejudge": ("-r", "results", "-d", "data", "--report-only", "--full"),
        "analyze": ("-s", "scores.json", "--with-baselines", "--full"),
        "compare": ("scores.json", "--with-baselines", "--full"),
    }
    ended = cli(*words, *more[words[0]])
    assert "not audited" in " ".join(ended.out.split()), ended


@pytest.mark.parametrize("task", ["pairwise", "rating"])
def test_an_audit_by_batches_asks_nothing_twice(audit: Callable[..., Any], task: str) -> None:
    with BatchServer() as batches:
        words = (*LOCAL, "--base-url", batches.url, "--task", task, "--batch", "--poll-interval", "0")
        assert audit(*words).status == 0
        [found] = read_audit(Path(f"judge-audit/{task}/audit.json"))
        assert found.n == 3 * N * T
        batches.fake.asked.clear()
        assert audit(*words).status == 0
        assert not [one for one in batches.fake.asked if one.path.endswith(("/chat/completions", "/batches"))]


def test_judges_can_be_added_later(audit: Callable[..., Any]) -> None:
    audit("--judge", "baseline:longest", "--limit", "1")
    audit("--judge", "baseline:lexicon", "--limit", "1")
    assert [one.judge for one in read_audit(Path("judge-audit/pairwise/audit.json"))] == ["lexicon", "longest"]


def test_without_a_choice_there_is_nothing_to_audit(audit: Callable[..., Any]) -> None:
    for file in Path("data").glob("*.json"):
        content = json.loads(file.read_text("utf-8"))
        for turn in content["turns"]:
            turn["annotations"]["pairwiseComparisons"] = []
        file.write_text(json.dumps(content))
    ended = audit("--judge", "baseline:longest")
    assert ended.status == 2
    assert not Path("judge-audit").exists()


def test_all_questions_count_where_they_are_wanted(audit: Callable[..., Any]) -> None:
    audit("--judge", "baseline:lexicon", "--questions", "all")
    [found] = read_audit(Path("judge-audit/pairwise/audit.json"))
    assert found.n == 12 * N * T
    audit("--report-only")
    [found] = read_audit(Path("judge-audit/pairwise/audit.json"))
    assert found.n == 3 * N * T


def test_a_limit_counts_conversations_and_can_be_raised(audit: Callable[..., Any], server: FakeServer) -> None:
    words = (*LOCAL, "--base-url", server.url)
    audit(*words, "--limit", "1")
    assert len(server.bodies) == 6 * T
    audit(*words)
    assert len(server.bodies) == 6 * N * T
    [found] = read_audit(Path("judge-audit/pairwise/audit.json"))
    assert found.conversations == N


@pytest.mark.parametrize(("task", "calls"), [("pairwise", 6), ("rating", 3)])
def test_a_dry_run_counts_and_writes_nothing(
    audit: Callable[..., Any], server: FakeServer, task: str, calls: int
) -> None:
    ended = audit(*LOCAL, "--base-url", server.url, "--task", task, "--dry-run")
    assert f"{calls * N * T} calls" in ended.out
    assert not server.bodies
    assert not Path("judge-audit").exists()


def test_refusals_are_counted_and_never_a_choice(audit: Callable[..., Any], server: FakeServer) -> None:
    def refuse(asked: Asked) -> Behaviour:
        refused = asked.path.endswith("/chat/completions") and len(server.bodies) % 2
        return Answer(text="", message={"refusal": "No."}) if refused else _answers(asked)

    server.script = refuse
    audit(*LOCAL, "--base-url", server.url, "--task", "rating", "--concurrency", "1")
    given = lines("judge-audit/rating/verdicts/judge.jsonl")
    unanswered = [one for one in given if one["preference"] is None]
    assert unanswered
    assert {one["outcome"] for one in unanswered} == {"refused"}
    [found] = read_audit(Path("judge-audit/rating/audit.json"))
    assert found.n == len(given) - len(unanswered)


def test_a_judge_that_refuses_everything_does_not_pass(audit: Callable[..., Any], server: FakeServer) -> None:
    server.script = lambda asked: Answer(text="", message={"refusal": "No."}) if "chat" in asked.path else Answer()
    audit(*LOCAL, "--base-url", server.url)
    [found] = read_audit(Path("judge-audit/pairwise/audit.json"))
    assert (found.agreement, found.n, found.passed) == (None, 0, False)


def test_a_refused_key_is_one_sentence(audit: Callable[..., Any], server: FakeServer) -> None:
    server.script = lambda asked: Status(401, {"error": {"message": "no"}}) if "chat" in asked.path else Answer()
    ended = audit(*LOCAL, "--base-url", server.url)
    assert ended.status == 2
    assert "Traceback" not in ended.err


def test_changed_texts_are_refused(audit: Callable[..., Any]) -> None:
    audit("--judge", "baseline:longest")
    file = sorted(Path("data").glob("*.json"))[0]
    content = json.loads(file.read_text("utf-8"))
    content["turns"][0]["userMessage"] += " Really."
    file.write_text(json.dumps(content))
    ended = audit("--judge", "baseline:longest")
    assert ended.status not in (0, 3)


@pytest.mark.parametrize(
    "words", [(), ("--judge", "longest"), ("--judge", "baseline:nobody"), ("--report-only",), ("--judge", "x:y")]
)
def test_wrong_use_is_one_sentence(audit: Callable[..., Any], words: tuple[str, ...]) -> None:
    ended = audit(*words)
    assert ended.status in (1, 2)
    assert ended.err
    assert "bug" not in ended.err


def test_a_pair_with_one_rating_has_no_preference(judged: Path, tmp_path: Path) -> None:
    from attunebench.arena.auditing import Rating
    from attunebench.arena.objects import Pair

    pairs = {"p": Pair(id="p", history="h", left="a", right="b")}
    rated = [
        Rating(history="h", author="a", rater="j", ratings={"overall_score": 5}),
        Rating(history="h", author="b", rater="j", outcome="refused"),
    ]
    [verdict] = rated_verdicts(Arena({}, {}, pairs), rated)
    assert (verdict.preference, verdict.outcome) == (None, "refused")
    assert not list(rated_verdicts(Arena({}, {}, pairs), rated[:1]))


@pytest.mark.slow
@pytest.mark.parametrize("task", ["pairwise", "rating"])
def test_a_killed_audit_is_resumed_and_pays_for_nothing_twice(
    judged: Path, tmp_path: Path, server: FakeServer, process: Callable[..., Any], task: str
) -> None:
    shutil.copytree(judged, tmp_path, dirs_exist_ok=True)
    in_flight = 4

    def faulty(asked: Asked) -> Behaviour:
        if asked.path.endswith("/chat/completions") and asked.number % 7 == 3:
            return Status(503, {"error": {"message": "busy"}})
        return Answer(text=varied_text(asked), delay=0.05)

    server.script = faulty
    words = ("judge-audit", "-d", "data", "--judge", "local:judge", "--base-url", server.url, "--task", task)
    words = ("-m", "attunebench.cli.main", *words, "--concurrency", in_flight, "--resamples", 100)
    begun = process(*words, OPENAI_API_KEY=KEY)
    while len(server.bodies) < 8 and begun.poll() is None:
        time.sleep(0.02)
    os.kill(begun.pid, signal.SIGKILL)
    begun.wait()
    before = len(server.bodies)
    server.script = _answers
    resumed = process(*words, OPENAI_API_KEY=KEY)
    assert resumed.wait() == 0
    asked = Counter(json.dumps(body["messages"]) for body in server.bodies)
    calls = {"pairwise": 6, "rating": 3}[task] * N * T
    assert len(asked) == calls
    assert before < calls
    refused = sum(one.number % 7 == 3 for one in server.asked[: before + 2])
    assert len(server.bodies) <= calls + in_flight + refused
