"""Nobody pays twice for upgrading: this version resumes folders of an earlier one and sends only what is missing."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import upgrades
from batch_server import BatchServer
from engines import requests_in
from upgrades import CONVERSATIONS, FOLDERS, JUDGES, MODES, TURNS

from attunebench.cli.main import main
from attunebench.journal.entries import prompt_digest
from attunebench.protocol.calls import Message
from attunebench.reports import build_report
from attunebench.reports.merging import merged_scores
from attunebench.results.schema import BINARY_BY_JUDGE, SCALE_BY_JUDGE, SCORES_BY_JUDGE
from attunebench.scores import read_scores
from attunebench.scores.compatibility import findings
from attunebench.scores.loading import load_scores

HERE = Path(__file__).parent / "upgrade_741c220"
KILLED = [name for name, made in FOLDERS.items() if made.killed_after is not None]
FINISHED = [name for name, made in FOLDERS.items() if made.killed_after is None]
OF_ONE_MODEL = 4 * TURNS + 1
OF_JUDGES = {name for key in (SCORES_BY_JUDGE, BINARY_BY_JUDGE) for name in (key, key.removesuffix("_by_model"))}
Requests = Counter[tuple[str, str, int]]
"""How often each request stands there: model, digest of the messages, tokens allowed."""


@pytest.fixture
def server() -> Iterator[BatchServer]:
    with BatchServer(says=upgrades.says) as server:
        yield server


@pytest.fixture
def opened(tmp_path: Path, server: BatchServer, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """`opened(name)`: a copy of that folder is the current one, and every host is the server; its results folder."""
    environment = upgrades.environment(server, tmp_path)
    for variable in os.environ.keys() - environment.keys():
        monkeypatch.delenv(variable)
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)

    def copy(name: str) -> Path:
        shutil.copytree(HERE / name, tmp_path / name)
        shutil.copytree(HERE / "data", tmp_path / name / "data")
        monkeypatch.chdir(tmp_path / name)
        return tmp_path / name / "results"

    return copy


def do(*words: str) -> int:
    """The exit status of a command in this process."""
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return int(ended.value.code or 0)


def sent(server: BatchServer) -> Requests:
    """The chat requests that have arrived."""
    return Counter(
        (body["model"], prompt_digest(tuple(Message(**message) for message in body["messages"])), body["max_tokens"])
        for body in server.fake.bodies
    )


def held(results: Path, scratch: Path) -> Requests:
    """The requests in a folder's journals, read off a copy: to read a journal that was left behind is to recover it."""
    copy = shutil.copytree(results, scratch / "journals")
    found: Requests = Counter()
    for path in copy.glob("_calls*.sqlite3"):
        with closing(sqlite3.connect(path)) as database:
            found.update(database.execute("SELECT model, prompt_sha256, max_tokens FROM replies"))
    shutil.rmtree(copy)
    return found


def results_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("[!_.]*.json"))}


def holds(new: Any, old: Any) -> bool:
    """Whether everything old stands in the new with the same value; the new may know more."""
    if isinstance(old, Mapping):
        return all(key in new and holds(new[key], value) for key, value in old.items())
    if isinstance(old, list):
        return len(new) == len(old) and all(map(holds, new, old))
    return bool(new == old)


def scales_in(result: bytes) -> set[str]:
    """The scales that the votes of a result file name."""
    return {scale for turn in json.loads(result)["turns"] for scale in turn[SCALE_BY_JUDGE].values()}


def warnings_of_files(files: Sequence[Path]) -> Sequence[str]:
    """What stands above the report of these scores files."""
    scores = merged_scores([read_scores(file) for file in files], [str(file) for file in files])
    return build_report(scores).warnings


def as_far_as_settled(requests: Requests, voted: bool) -> Requests:
    """The requests; those to judges by their number alone where none has voted: the scale is today's then."""
    if voted:
        return requests
    found: Requests = Counter()
    for (model, prompt, tokens), count in requests.items():
        found[model, "" if model in JUDGES else prompt, tokens] += count
    return found


def test_the_finished_folders_hold_every_call_of_the_protocol(tmp_path: Path) -> None:
    calls = CONVERSATIONS * len(MODES) * (OF_ONE_MODEL + len(JUDGES) * TURNS)
    assert calls == held(HERE / "finished" / "results", tmp_path).total()


@pytest.mark.parametrize("name", FINISHED)
def test_what_an_earlier_version_finished_is_left_as_it_is(
    name: str, opened: Callable[[str], Path], server: BatchServer
) -> None:
    results = opened(name)
    before = results_in(results)
    assert CONVERSATIONS * len(MODES) == len(before)
    for command in FOLDERS[name].commands:
        assert 0 == do(*command)
    assert [] == server.fake.bodies
    assert [] == server.asked
    assert before == results_in(results)


@pytest.mark.parametrize("name", KILLED)
def test_what_an_earlier_version_began_is_finished_with_the_missing_calls(
    name: str, opened: Callable[[str], Path], server: BatchServer, tmp_path: Path
) -> None:
    made, results = FOLDERS[name], opened(name)
    whole = held(HERE / made.whole / "results", tmp_path)
    known, before = held(results, tmp_path), results_in(results)
    for command in made.commands:
        assert 0 == do(*command)
    voted = any(model in JUDGES for model, *_ in known)
    assert as_far_as_settled(whole - known, voted) == as_far_as_settled(sent(server), voted)
    finished = {key: json.loads(text) for key, text in results_in(HERE / made.whole / "results").items()}
    written = {key: json.loads(text) for key, text in results_in(results).items()}
    assert finished.keys() == written.keys()
    for key, result in finished.items():
        assert holds(written[key]["post_conversation"], result["post_conversation"])
        for new, old in zip(written[key]["turns"], result["turns"], strict=True):
            assert holds(new, {name: value for name, value in old.items() if voted or name not in OF_JUDGES})
    untouched = {} if made.commands[-1][0] == "rejudge" else before
    assert untouched.items() <= results_in(results).items()
    server.fake.asked.clear()
    after = results_in(results)
    for command in made.commands:
        assert 0 == do(*command)
    assert [] == server.fake.bodies
    assert after == results_in(results)


def test_earlier_results_compare_with_those_of_today(
    opened: Callable[[str], Path], server: BatchServer, tmp_path: Path
) -> None:
    """The templates of what the evaluated model is asked are the same, and so is their digest."""
    before = opened("finished")
    run = [word if word != "em" else "em-of-today" for word in FOLDERS["finished"].commands[0]]
    assert 0 == do(*run, "--output", "today")
    assert "quality" in {vote for result in results_in(Path("today")).values() for vote in scales_in(result)}
    files = []
    for folder in (before, Path("today")):
        files.append(tmp_path / f"{folder.name}.json")
        assert 0 == do("score", "--results", str(folder), "--ground-truth", "data", "--output", str(files[-1]))
    told = " ".join(finding.sentence for finding in findings(load_scores(files)))
    assert "PROMPT" not in told
    assert not [sentence for sentence in warnings_of_files(files) if "PROMPT" in sentence]


def test_judges_that_are_added_to_earlier_results_ask_nothing_of_the_model(
    opened: Callable[[str], Path], server: BatchServer
) -> None:
    results = opened("unjudged")
    assert 0 == do(*upgrades.ADD_JUDGES)
    assert dict.fromkeys(JUDGES, CONVERSATIONS * len(MODES) * TURNS) == Counter(
        body["model"] for body in server.fake.bodies
    )
    for content in results_in(results).values():
        votes = [turn["em_draft_judge_scores_by_model"] for turn in json.loads(content)["turns"]]
        assert [set(JUDGES)] * TURNS == list(map(set, votes))


def test_a_batch_that_an_earlier_version_submitted_is_collected(
    opened: Callable[[str], Path], server: BatchServer
) -> None:
    results = opened("batch-under-way")
    upgrades.set_up(server, Path(upgrades.SERVER_STATE))
    assert 0 == do(*upgrades.BATCH)
    assert 0 == server.uploads
    assert 1 == len(server.made)
    assert [] == server.fake.bodies
    assert len(MODES) == len(results_in(results))


def test_answers_to_requests_of_an_earlier_plan_are_collected(opened: Callable[[str], Path]) -> None:
    results = opened("collected")
    requests, responses = Path(upgrades.REQUESTS), Path(upgrades.RESPONSES)
    requests.write_bytes(gzip.decompress(Path(f"{requests}.gz").read_bytes()))
    before = results_in(results)
    upgrades.answered(requests_in(requests), responses)
    assert 0 == do(*upgrades.COLLECT)
    assert CONVERSATIONS * len(MODES) == len(results_in(results))
    assert before.items() <= results_in(results).items()


@pytest.mark.parametrize("live", [False, True])
def test_what_an_earlier_plan_left_is_all_that_is_asked_now(
    live: bool, opened: Callable[[str], Path], server: BatchServer, tmp_path: Path
) -> None:
    results = opened("collected")
    known = held(results, tmp_path)
    missing = CONVERSATIONS * len(MODES) * OF_ONE_MODEL - known.total()
    if live:
        assert 0 == do(*FOLDERS["unjudged"].commands[0])
        assert missing == sent(server).total()
        assert not sent(server) & known
        return
    assert 0 == do(*upgrades.PLAN)
    requests = requests_in(Path(upgrades.REQUESTS))
    assert missing == len(requests)
    upgrades.answered(requests, Path(upgrades.RESPONSES))
    assert 0 == do(*upgrades.COLLECT)
    assert CONVERSATIONS * len(MODES) == len(results_in(results))
