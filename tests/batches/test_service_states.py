"""How batches end, and what a run does then: what was answered counts, and nothing goes round in circles."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from batch_runs import BatchRun, Heard, predictions, run_by_batches, settings_at
from batch_server import BatchServer, Made, Said, varied
from factory import write_conversations
from pydantic import SecretStr

from attunebench.batches.executor import MOST_LOST
from attunebench.batches.pending import MOST_BATCHES
from attunebench.errors import ConfigurationError
from attunebench.selftest.server import Answer, Asked, Behaviour, Status

Run = Callable[..., BatchRun]
FULL = {
    "code": "token_limit_exceeded",
    "message": "Enqueued token limit reached for fake-model. Limit: 90,000 enqueued tokens.",
    "line": None,
    "param": None,
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """One conversation of one turn: five calls."""
    return write_conversations(tmp_path / "data", 1, seed=3, turns=1)


@pytest.fixture
def larger(tmp_path: Path) -> Path:
    """Five conversations of one turn: 25 calls."""
    return write_conversations(tmp_path / "larger", 5, seed=4, turns=1)


@pytest.fixture
def run(data: Path, tmp_path: Path) -> Run:
    """`run(server, judges=[…], cancel=True, …)`: a run by batches of `data` (or `larger`) into `results`."""

    def ended(server: BatchServer, talks: Path = data, **options: Any) -> BatchRun:
        apart = {name: options.pop(name) for name in ("watcher", "cancel", "interval") if name in options}
        return run_by_batches(talks, settings_at(server.url, tmp_path / "results", **options), **apart)

    return ended


def first_ends(status: str, otherwise: Sequence[str] = ("completed",)) -> Any:
    return lambda made: ["in_progress", status] if made.number == 1 else list(otherwise)


def test_of_an_expired_batch_the_answered_part_counts_and_the_rest_is_asked_anew(run: Run) -> None:
    watcher = Heard()
    with BatchServer(course=first_ends("expired"), answered=lambda _: 2) as server:
        ended = run(server, watcher=watcher)
        assert [5, 3] == [len(made.lines) for made in server.made]
        assert [1] * 5 == list(server.billed.values())
    assert 1 == ended.summary.written
    assert "expired: 2 of 5 requests answered" in watcher.said


def test_a_batch_that_expires_every_time_is_not_sent_for_ever(run: Run) -> None:
    with BatchServer(course=lambda _: ["expired"], answered=lambda _: 0) as server:
        ended = run(server)
        assert MOST_BATCHES == len(server.made)
    assert 1 == len(ended.summary.skipped)
    assert (0, 0) == (ended.summary.written, ended.summary.unreached)


def test_a_batch_that_somebody_cancels_is_collected_and_nothing_more_is_sent(run: Run) -> None:
    watcher = Heard()
    with BatchServer(course=lambda _: ["in_progress", "cancelling", "cancelled"], answered=lambda _: 2) as server:
        ended = run(server, watcher=watcher)
        assert 1 == len(server.made)
        assert ("cancelled", 1) == (ended.summary.stopped, ended.summary.unreached)
        server.course = lambda _: ["completed"]
        run(server)
        assert [1] * 5 == list(server.billed.values())
    assert "cancelled: 2 of 5 requests answered" in watcher.said


def test_cancelling_collects_what_is_done_and_sends_nothing(run: Run) -> None:
    with BatchServer(course=lambda _: ["in_progress"] * 50, answered=lambda _: 3) as server:
        server.before = _refused_once("GET", "/v1/batches/batch_1")
        with pytest.raises(ConfigurationError):
            run(server)
        ended = run(server, cancel=True)
        assert 1 == len(server.made)
        assert 3 == len(server.billed)
        assert "POST /batches/ID/cancel" in server.asked
    assert ("", 1, 0) == (ended.summary.stopped, ended.summary.unreached, len(ended.under_way))


@pytest.mark.parametrize(
    "problem",
    [
        {"code": "model_not_found", "message": "The provided model 'fake-model' does not exist.", "line": 1},
        {"code": "duplicate_custom_id", "message": "The custom_id for this request is a duplicate.", "line": 2},
        {"code": "empty_file", "message": "The input file is empty.", "line": None},
    ],
)
def test_a_batch_that_fails_ends_the_run_with_the_reason(run: Run, problem: dict[str, Any]) -> None:
    with BatchServer(course=lambda _: ["failed"], problems=lambda _: [problem]) as server:
        with pytest.raises(ConfigurationError, match=problem["message"].replace("'", ".")[:-1]) as raised:
            run(server)
        assert 1 == len(server.made)
    assert problem["line"] is None or f"(line {problem['line']})" in str(raised.value)


def test_a_judges_batch_that_fails_leaves_the_results_without_its_votes(run: Run, tmp_path: Path) -> None:
    with BatchServer(
        course=lambda made: ["failed"] if made.model == "judge-a" else ["completed"],
        problems=lambda _: [{"code": "model_not_found", "message": "There is no such model."}],
    ) as server:
        with pytest.raises(ConfigurationError, match="judge-a"):
            run(server, judges=["judge-a", "judge-b"])
        assert 3 == len(server.made)
    (result,) = predictions(tmp_path / "results").values()
    votes = json.loads(result)["turns"][0]["em_draft_judge_scores_by_model"]
    assert ["judge-b"] == list(votes)


def test_when_every_line_fails_for_what_can_be_mended_the_run_ends_with_that(run: Run) -> None:
    """A batch may be "completed" without an output file."""
    refusal = Status(401, {"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}})
    with BatchServer(says=lambda _: refusal) as server:
        with pytest.raises(ConfigurationError, match=r"API key.*in 5 lines of batch"):
            run(server)
        assert 1 == len(server.made)


@pytest.mark.parametrize("said", [Status(503, {"error": {"message": "overloaded"}}), None])
def test_lines_that_fail_every_time_are_given_up_and_listed(run: Run, tmp_path: Path, said: Said) -> None:
    """With an error line, or with no line at all."""
    broken = lambda asked: said if "pairwise_selections" in asked.prompt else varied(asked)  # noqa: E731
    watcher = Heard()
    with BatchServer(says=broken) as server:
        ended = run(server, watcher=watcher)
        assert [5, 1, 1] == [len(made.lines) for made in server.made]
        assert ((1, 0), 4) == ((len(ended.summary.skipped), ended.summary.written), ended.summary.calls)
        (entry,) = json.loads((tmp_path / "results" / "_skipped_fake-model.json").read_text())["skipped"]
        assert (MOST_BATCHES, "attune-bench run … --batch") == (entry["tries"], entry["run_again"])
        server.says = varied
        assert 1 == run(server).summary.written
    assert not (tmp_path / "results" / "_skipped_fake-model.json").exists()


def test_files_that_are_named_late_are_waited_for(run: Run) -> None:
    with BatchServer(hidden=3) as server:
        ended = run(server)
        assert 1 == len(server.made)
    assert 1 == ended.summary.written


def test_files_that_never_come_stop_the_run_and_are_taken_when_they_do(run: Run) -> None:
    with BatchServer(hidden=1_000) as server:
        for _ in range(2):
            with pytest.raises(ConfigurationError, match=r"5 requests of batch batch_1 as answered.* lines for 0"):
                run(server)
        server.made[0].hidden = 0
        ended = run(server)
        assert [1] * 5 == list(server.billed.values())
    assert 1 == ended.summary.written


@pytest.mark.parametrize("whose", ["nobody's", "one of its own again"])
def test_lines_that_answer_nothing_are_not_counted_as_answers(run: Run, whose: str) -> None:
    """Another batch's file: what was charged is not bought a second time before the user says so."""
    with BatchServer() as server:

        def otherwise(asked: Asked) -> Behaviour | None:
            if not asked.path.endswith("/content"):
                return None
            lines = server.files[str(server.made[0].output)].splitlines(keepends=True)
            others = [line.replace(b"attune-", b"request-") for line in lines[1:]]
            return Status(200, lines[0] + b"".join(others if whose == "nobody's" else [lines[0]] * 4))

        server.before = otherwise
        with pytest.raises(ConfigurationError, match=r"lines for 1.* Nothing is sent again"):
            run(server)
        assert 1 == len(server.made)
        run(server, cancel=True)
        server.before = lambda _: None
        assert 1 == run(server).summary.written
        assert [4] == [len(made.lines) for made in server.made[1:]]


def test_a_service_that_makes_nothing_of_what_it_is_sent_is_left_after_a_while(run: Run) -> None:
    watcher = Heard()
    with BatchServer() as server:
        nothing = Status(200, {"id": None})
        server.before = lambda asked: nothing if (asked.method, asked.path) == ("POST", "/v1/batches") else None
        ended = run(server, watcher=watcher)
        assert MOST_LOST == server.asked.count("POST /batches")
    assert ("outage", 0) == (ended.summary.stopped, ended.summary.written)
    assert "none of 5 batches" in watcher.said


def test_a_key_that_the_service_repeats_is_in_no_error_and_no_file(data: Path, tmp_path: Path) -> None:
    key = "k3y-that-nobody-may-see"
    with BatchServer(says=lambda _: Answer(f'{{"drafted_response": "{key}"}}')) as server:
        settings = settings_at(server.url, tmp_path / "results")
        settings = settings.model_copy(update={"em": settings.em.model_copy(update={"api_key": SecretStr(key)})})
        run_by_batches(data, settings)
        with_errors = settings.model_copy(update={"output": tmp_path / "failed"})
        server.course, server.problems = lambda _: ["failed"], lambda _: [{"code": key, "message": f"Bearer {key}"}]
        with pytest.raises(ConfigurationError) as caught:
            run_by_batches(data, with_errors)
    assert key not in str(caught.value)
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(key.encode() in content for content in written)


def test_a_batch_that_is_not_known_right_after_its_making_is_waited_for(run: Run) -> None:
    with BatchServer() as server:
        unknown = [Status(404, {"error": {"message": "No such batch"}})] * 3
        server.before = lambda asked: unknown.pop() if asked.path == "/v1/batches/batch_1" and unknown else None
        assert 1 == run(server).summary.written
        assert 1 == len(server.made)


@pytest.mark.parametrize("status", [400, 409])
def test_a_batch_that_ended_before_it_could_be_cancelled_is_collected(run: Run, status: int) -> None:
    with BatchServer() as server:
        server.before = _refused_once("GET", "/v1/batches/batch_1")
        with pytest.raises(ConfigurationError):
            run(server)
        ended = Status(status, {"error": {"message": "Cannot cancel a batch with status 'completed'."}})
        server.before = lambda asked: ended if asked.path.endswith("/cancel") else None
        ended = run(server, cancel=True)
    assert (1, 0) == (ended.summary.written, ended.summary.unreached)


def test_answers_that_are_gone_stop_the_run_until_they_are_given_up(run: Run) -> None:
    with BatchServer() as server:
        gone = Status(404, {"error": {"message": "No such File object"}})
        server.before = lambda asked: gone if asked.path.endswith("/content") else None
        with pytest.raises(ConfigurationError, match=r"batch_1 .*--cancel"):
            run(server)
        run(server, cancel=True)
        assert 1 == len(server.made)
        server.before = lambda _: None
        assert 1 == run(server).summary.written


def test_a_full_queue_is_met_with_smaller_batches_one_after_the_other(run: Run, larger: Path) -> None:
    watcher = Heard()
    under_way: list[int] = []

    def course(made: Made) -> list[str]:
        under_way.append(sum(not each.status.endswith("ed") for each in server.made))
        return ["failed"] if len(made.lines) > 13 else ["in_progress", "completed"]

    with BatchServer(course=course, problems=lambda _: [FULL]) as server:
        ended = run(server, larger, watcher=watcher)
        assert [25, 13, 12] == [len(made.lines) for made in server.made]
        assert [1] * 25 == list(server.billed.values())
    assert 5 == ended.summary.written
    assert 0 == max(under_way)
    assert "they continue in batches of 13, one after the other (25 requests)" in watcher.said


def test_a_batch_that_is_refused_for_a_full_queue_at_its_making_is_made_when_the_command_is_repeated(run: Run) -> None:
    """The second judge's, once: it cannot be smaller."""
    with BatchServer() as server:
        refused = iter([True])

        def full(asked: Asked) -> Behaviour | None:
            is_judge = asked.path == "/v1/batches" and asked.method == "POST" and len(server.batches) == 2
            return Status(429, {"error": FULL}) if is_judge and next(refused, False) else None

        server.before = full
        with pytest.raises(ConfigurationError, match="even 1 requests"):
            run(server, judges=["judge-a", "judge-b"])
        ended = run(server, judges=["judge-a", "judge-b"])
        assert [1] * 7 == list(server.billed.values())
    assert (1, 0) == (ended.summary.written, ended.summary.votes_owed)


def test_a_queue_that_stays_full_ends_the_run(run: Run) -> None:
    with BatchServer(course=lambda _: ["failed"], problems=lambda _: [FULL]) as server:
        with pytest.raises(ConfigurationError, match="does not accept even 5 requests"):
            run(server)
        assert 1 == len(server.made)


def test_a_queue_that_was_full_for_a_killed_process_is_tried_again(run: Run, larger: Path) -> None:
    """The submission's process is gone: the requests are planned anew."""
    with BatchServer(course=lambda made: ["failed"] if made.number == 1 else ["completed"]) as server:
        server.problems = lambda _: [FULL]
        server.before = _refused_once("GET", "/v1/batches/batch_1")
        with pytest.raises(ConfigurationError):
            run(server, larger)
        ended = run(server, larger)
    assert 5 == ended.summary.written


def test_a_service_that_is_out_of_reach_leaves_the_batch_to_itself(run: Run) -> None:
    with BatchServer(course=lambda _: ["in_progress"]) as server:
        server.before = lambda asked: Status(503) if asked.path.startswith("/v1/batches/") else None
        ended = run(server)
        assert ("outage", ["batch_1"]) == (ended.summary.stopped, [each.id for each in ended.under_way])


def test_what_came_in_before_an_outage_becomes_results(run: Run, tmp_path: Path) -> None:
    """One judge's batch is done, the other's is out of reach."""
    with BatchServer(course=lambda _: ["completed"]) as server:
        server.before = lambda asked: Status(503) if asked.path == "/v1/batches/batch_3" else None
        ended = run(server, judges=["judge-a", "judge-b"])
    assert ("outage", 1, 1) == (ended.summary.stopped, ended.summary.written, ended.summary.votes_owed)
    (result,) = predictions(tmp_path / "results").values()
    assert ["judge-a"] == list(json.loads(result)["turns"][0]["em_draft_judge_scores_by_model"])


def test_waits_are_the_interval_or_what_the_service_asks_for_and_grow_with_its_troubles(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    troubles = [Status(503), Status(502), Status(429, {"error": {"message": "Rate limit"}}, {"retry-after": "700"})]
    slept: list[float] = []

    pause = asyncio.sleep

    async def sleep(seconds: float) -> None:
        if seconds >= 60.0:
            slept.append(seconds)
        else:
            await pause(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    with BatchServer(course=lambda _: ["in_progress", "completed"]) as server:
        server.before = lambda asked: troubles.pop() if asked.path == "/v1/batches/batch_1" and troubles else None
        run(server, interval=60.0)
    assert [60.0, 700.0, 120.0, 240.0, 60.0] == slept


@pytest.mark.parametrize("content", [b"", b"<html>\n<body>\n", b'{"custom_id": 3}\n{"custom', b"\0\xff\n"])
def test_a_file_without_the_lines_that_it_is_said_to_have_is_not_believed_at_once(run: Run, content: bytes) -> None:
    """A gateway's page under status 200, an empty file, a cut one: it is fetched again."""
    left = [Status(200, content)] * 2
    with BatchServer() as server:
        server.before = lambda asked: left.pop() if asked.path.endswith("/content") and left else None
        ended = run(server)
        assert 1 == len(server.made)
        assert [1] * 5 == list(server.billed.values())
    assert 1 == ended.summary.written


def _refused_once(method: str, path: str) -> Any:
    """A way to end a process while its batch is under way."""
    left = [Status(401, {"error": {"message": "no"}})]
    return lambda asked: left.pop() if left and (asked.method, asked.path) == (method, path) else None


REJECTED = Status(422, {"error": {"message": "The gateway dislikes this"}})


def one_line(says: Status) -> Any:
    """One of the requests is answered so every time, all others well."""
    singled: list[str] = []

    def answer(asked: Asked) -> Said:
        singled[:] = singled or [asked.prompt]
        return says if asked.prompt == singled[0] else varied(asked)

    return answer


def test_a_request_that_is_rejected_twice_skips_its_conversation_and_no_other(run: Run, larger: Path) -> None:
    with BatchServer(says=one_line(REJECTED)) as server:
        ended = run(server, larger)
        assert [25, 1] == [len(made.lines) for made in server.made]
        bodies = [line["body"] for made in server.made for line in made.lines]
        assert all("response_format" in body for body in bodies)
    assert (1, 4) == (len(ended.summary.skipped), ended.summary.written)
    assert all("The gateway dislikes this" in reason for reason in ended.summary.skipped.values())


def test_a_rejection_of_everything_stops(run: Run) -> None:
    with BatchServer(says=lambda _: REJECTED) as server, pytest.raises(ConfigurationError):
        run(server, structured="text")


@pytest.mark.parametrize(("message", "refused"), [("Content Exists Risk", 1), ("Range of input length: [1, 6144]", 0)])
def test_moderation_and_length_cost_their_own_request_alone(run: Run, message: str, refused: int) -> None:
    with BatchServer(says=one_line(Status(400, {"error": {"message": message}}))) as server:
        ended = run(server)
        assert [5] == [len(made.lines) for made in server.made]
    assert (1, {}) == (ended.summary.written, ended.summary.skipped)
    assert refused == ended.summary.unanswered.get("refused", 0)


def test_no_money_in_a_line_stops_in_any_words(run: Run) -> None:
    gone = one_line(Status(500, {"error": {"message": "insufficient balance (1008)"}}))
    with BatchServer(says=gone) as server, pytest.raises(ConfigurationError, match="no balance"):
        run(server)


def test_answers_to_what_is_asked_again_count_though_other_batches_end_first(larger: Path, tmp_path: Path) -> None:
    def answered() -> list[bool]:
        counts = [json.loads(path.read_text())["calls"] for path in sorted((tmp_path / "out").glob("[!_]*.json"))]
        return [each["answered_items"] == each["expected_items"] for each in counts]

    def without_comparisons(asked: Asked) -> Said:
        return Answer("no") if "pairwise_selections" in asked.prompt else varied(asked)

    def later_for_the_model(made: Made) -> Sequence[str]:
        return [*["in_progress"] * (6 if made.model == "fake-model" else 0), "completed"]

    with BatchServer(says=without_comparisons) as server:
        run_by_batches(larger, settings_at(server.url, tmp_path / "out", max_reasks=0))
        assert not any(answered())
        server.says, server.course = varied, later_for_the_model
        again = settings_at(server.url, tmp_path / "out", max_reasks=0, retry_unanswered=True, judges=("judge-a",))
        ended = run_by_batches(larger, again)
        assert all(answered())
        assert (5, 0, 0) == (ended.summary.written, ended.summary.unreached, ended.summary.votes_owed)
        batches = len(server.made)
        ended = run_by_batches(larger, again)
        assert (5, 0, batches) == (ended.summary.complete_before, ended.summary.unreached, len(server.made))


def test_what_is_asked_again_in_vain_leaves_the_result_as_it_was(data: Path, tmp_path: Path) -> None:
    with BatchServer(says=lambda asked: Answer("no") if "pairwise_selections" in asked.prompt else varied(asked)) as at:
        run_by_batches(data, settings_at(at.url, tmp_path / "out", max_reasks=0))
        [path] = (tmp_path / "out").glob("[!_]*.json")
        before = json.loads(path.read_text())["calls"]
        ended = run_by_batches(data, settings_at(at.url, tmp_path / "out", max_reasks=0, retry_unanswered=True))
        assert (before["answered_items"], 0) == (
            json.loads(path.read_text())["calls"]["answered_items"],
            ended.summary.unreached,
        )
