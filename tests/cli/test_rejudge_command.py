"""`rejudge` as a user meets it: what is said where, what is written, and how it ends."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from factory import write_conversations
from keys import KEY, files_with_a_key

import attunebench
from attunebench.cli.main import main
from attunebench.runner import ModelSettings, RunSettings
from attunebench.selftest.server import Answer, FakeServer, Status

N, T = 2, 3


@dataclass(frozen=True)
class Ended:
    status: int
    out: str
    err: str


Rejudge = Callable[..., Ended]


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(models=("judge",)) as server:
        yield server


@pytest.fixture(scope="module")
def unjudged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`data`, and `results` of two models on it that nobody has judged."""
    folder = tmp_path_factory.mktemp("unjudged")
    write_conversations(folder / "data", N, seed=3, turns=T)
    for baseline in ("majority", "lexicon"):
        em = ModelSettings(provider="baseline", model=baseline)
        attunebench.run(folder / "data", RunSettings(em=em, output=folder / "results"))
    return folder


@pytest.fixture
def rejudge(
    unjudged: Path,
    tmp_path: Path,
    server: FakeServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Rejudge:
    """`rejudge("-M", "judge", …)` in a folder with `data` and unjudged `results`; asks the server by itself."""
    for name in os.environ:
        if name.upper().endswith(("_API_KEY", "_PROXY", "_BASE_URL")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "140")
    monkeypatch.chdir(tmp_path)
    shutil.copytree(unjudged, tmp_path, dirs_exist_ok=True)

    def call(*options: str, where: bool = True) -> Ended:
        words = ["rejudge", "-d", "data", "--resamples", "100", *options]
        if where:
            words += ["--judge-provider", "local", "--judge-base-url", server.url, "--judge-api-key", KEY]
        monkeypatch.setattr("sys.argv", ["attune-bench", *words])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(words)
        captured = capsys.readouterr()
        assert KEY not in captured.out + captured.err
        assert [] == files_with_a_key(tmp_path)
        return Ended(int(ended.value.code or 0), captured.out, " ".join(captured.err.split()))

    return call


def files() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path("results").glob("[!_.]*.json")}


def test_votes_are_added_and_the_report_is_on_stdout_alone(rejudge: Rejudge, server: FakeServer) -> None:
    ended = rejudge("-M", "judge,second")
    assert (0, 2 * 2 * N * T) == (ended.status, len(server.bodies))
    assert f"{4 * N * T} votes added." in ended.err
    assert "Next: attune-bench score --results results" in ended.err
    assert "Judged scores" in ended.out
    assert "all: judge and second" in " ".join(ended.out.split())
    assert "Do all judges agree?" in ended.out
    assert "How do judged" not in ended.err


def test_the_same_command_again_asks_nothing_and_reports_again(rejudge: Rejudge, server: FakeServer) -> None:
    first = rejudge("-M", "judge")
    server.asked.clear()
    again = rejudge("-M", "judge")
    assert [] == server.bodies
    assert (0, first.out) == (again.status, again.out)
    assert "0 votes added." in again.err
    assert "4 complete before" in again.err


def test_report_only_asks_nobody_and_needs_no_judge(rejudge: Rejudge, server: FakeServer) -> None:
    rejudge("-M", "judge")
    rejudge("-M", "second")
    before = files()
    server.asked.clear()
    ended = rejudge("--report-only", "-M", "second", "-f", "json", "-o", "report.json", where=False)
    assert (0, "", []) == (ended.status, ended.out, server.asked)
    scores, agreement = json.loads(Path("report.json").read_text())["analyses"]
    assert {"second", "before: judge", "all: judge and second"} == {
        row["judged_by"] for row in scores["tables"][0]["rows"]
    }
    assert ["answers", "marks", "alpha"] == [table["id"] for table in agreement["tables"]]
    assert before == files()
    unknown = rejudge("--report-only", "-M", "nobody", where=False)
    assert 2 == unknown.status
    assert "nobody has no votes here; there are votes of judge, second." in unknown.err


def test_before_any_vote_the_report_says_what_is_missing(rejudge: Rejudge) -> None:
    ended = rejudge("--report-only", where=False)
    assert 0 == ended.status
    assert 2 == ended.out.count("No draft in these results has a vote")


def test_a_dry_run_counts_and_asks_nobody(rejudge: Rejudge, server: FakeServer) -> None:
    before = files()
    ended = rejudge("-M", "judge,second", "--dry-run", "--judge-price-in", "1", "--judge-price-out", "2")
    assert 0 == ended.status
    assert f"4 pending, 0 complete (results); {4 * N * T} calls; no prompt was sent." in ended.out
    assert "Cost: about $" in ended.out
    assert [] == server.bodies
    assert before == files()


def test_a_refused_key_is_one_sentence_and_changes_nothing(rejudge: Rejudge, server: FakeServer) -> None:
    before = files()
    server.script = lambda asked: Status(401, {"error": {"message": "no"}}) if "chat" in asked.path else Answer()
    ended = rejudge("-M", "judge", "-q")
    assert (2, "") == (ended.status, ended.out)
    assert "key" in ended.err
    assert "owed" not in ended.err
    assert before == files()


def test_owed_votes_and_results_that_are_left_end_with_1_and_are_named(rejudge: Rejudge, server: FakeServer) -> None:
    name, other = sorted(files())[:2]
    result = json.loads(files()[name])
    Path("results", name).write_text(json.dumps({**result, "conversationId": "gone"}))
    result = json.loads(files()[other])
    result["turns"][0]["em_drafted_response"] = None
    Path("results", other).write_text(json.dumps(result))
    ended = rejudge("-M", "judge")
    assert 1 == ended.status
    assert f"Skipped: {name}: its conversation is missing." in ended.err
    assert f"1 turn without a draft in 1 result, not judged: {other}: turn 1" in ended.err
    assert f"{3 * T - 1} votes added." in ended.err


def test_a_bound_on_money_needs_prices_and_ends_with_3(rejudge: Rejudge) -> None:
    unknown = rejudge("-M", "judge", "--max-cost", "1")
    assert 2 == unknown.status
    assert "give --judge-price-in and --judge-price-out" in unknown.err
    prices = ("--judge-price-in", "1000", "--judge-price-out", "1000", "--max-tokens", "100")
    ended = rejudge("-M", "judge", "--max-cost", "12", "--concurrency", "1", *prices)
    assert 3 == ended.status
    assert "Resume (each run has its own --max-cost limit) with: attune-bench rejudge -d data" in ended.err


def test_replacing_says_how_many(rejudge: Rejudge) -> None:
    rejudge("-M", "judge")
    ended = rejudge("-M", "judge", "--replace")
    assert 0 == ended.status
    assert f"0 votes added, {2 * N * T} replaced; none of them says something different now." in ended.err
    assert f"{2 * N * T} of the calls have an answer in the journal and are not sent again." in ended.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "No judge is named; give at least one with --judge-model"),
        (("-M", "judge"), "Give --judge-provider"),
        (("-M", "judge", "--judge-provider", "elsewhere"), "There is no provider 'elsewhere'"),
        (("-M", "judge", "--judge-provider", "baseline"), "There is no baseline"),
        (("-M", "judge", "--judge-provider", "local"), "needs the server's address"),
        (("-M", "judge", "--judge-provider", "openai"), "No API key for openai"),
        (
            ("-M", "random", "--judge-provider", "baseline", "--models", "x"),
            "There is no result of a model x; there is",
        ),
        (("-M", "random", "--judge-provider", "baseline", "--modes", "loud"), "There is no mode loud"),
        (("-M", "random", "--judge-provider", "baseline", "--structured", "very"), "--structured"),
        (("--results", "nowhere"), "There is no results folder nowhere"),
        (("--cluster", "city", "--report-only"), "--cluster"),
    ],
)
def test_what_does_not_go_is_said_in_a_sentence(rejudge: Rejudge, options: tuple[str, ...], said: str) -> None:
    ended = rejudge(*options, where=False)
    assert (2, "") == (ended.status, ended.out)
    assert said in ended.err
    assert "Traceback" not in ended.err


def test_built_in_baselines_judge_and_can_be_judged_offline(rejudge: Rejudge) -> None:
    ended = rejudge("-M", "random", "--judge-provider", "baseline", "--models", "baseline/lexicon", where=False)
    assert 0 == ended.status
    assert f"{N * T} votes added." in ended.err
    assert "Cost" not in ended.err
    assert "lexicon" in ended.out
    assert "majority" not in ended.out


def test_a_damaged_journal_is_not_remedied_by_an_option_that_names_the_report(
    rejudge: Rejudge, server: FakeServer
) -> None:
    before = files()
    Path("results/_calls.sqlite3").write_bytes(b"no journal" * 900)
    ended = rejudge("-M", "judge")
    assert (2, [], before) == (ended.status, server.bodies, files())
    assert "move it away" in ended.err
    assert "another results folder" in ended.err
    assert "--output" not in ended.err
