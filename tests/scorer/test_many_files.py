"""Scoring straight into a file, by one process or several: the same bytes, whatever happens to the processes."""

from __future__ import annotations

import json
import multiprocessing
from datetime import datetime, timezone

import pytest
from factory import make_conversation, write_conversations
from result_factory import noisy_result, oracle_result, write_result

from attunebench.conversations import load_conversations
from attunebench.errors import DataError, UsageError
from attunebench.results.folder import Findings, result_files
from attunebench.scorer import pool, score_folders, score_to_file
from attunebench.scorer.assembling import Task
from attunebench.scorer.groups import ScoreSettings
from attunebench.scorer.truth import Ground
from attunebench.scores import read_scores, write_scores
from attunebench.scores.loading import load_scores

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=timezone.utc)
CONVERSATIONS = 24


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Results enough for several chunks: two models, one with epochs, and files of every kind that is no result."""
    path = tmp_path_factory.mktemp("many")
    write_conversations(path / "truth", CONVERSATIONS, turns=3)
    results = path / "results"
    for seed in range(CONVERSATIONS):
        raw = make_conversation(seed, turns=3)
        write_result(results / "a", noisy_result(raw, 1, model='no"isy \N{SNOWMAN}'))
        write_result(results / "b", oracle_result(raw))
        write_result(results / "b", {**oracle_result(raw), "em_model": "twice", "epoch": 1}, f"{seed}-1.json")
        write_result(results / "b", {**noisy_result(raw, 2), "em_model": "twice", "epoch": 2}, f"{seed}-2.json")
    write_result(results / "c", oracle_result(make_conversation(999, turns=3)))
    write_result(results / "d", oracle_result(make_conversation(3, turns=3)))
    (results / "c" / "broken.json").write_text('{"em_model": ')
    (results / "c" / "notes.json").write_text("[]")
    (results / "a" / "_skipped_x.json").write_text('{"em_model": "x", "skipped": [{"conversationId": "unknown"}]}')
    (results / "b" / "_skipped_y.json").write_text("{")
    return results, path / "truth"


@pytest.fixture(scope="module")
def expected(folders, tmp_path_factory):
    """The file by way of the dict."""
    target = tmp_path_factory.mktemp("expected") / "scores.json"
    write_scores(target, score_folders(*folders, resamples=200, now=NOW))
    return target.read_bytes()


def scorers(folders, processes):
    task = Task(Ground.of(load_conversations(folders[1])), ScoreSettings(0, 200))
    return pool.Scorers(task, processes)


def files_of(folders):
    return result_files(folders[0], Findings())


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_the_file_is_the_same_to_the_byte_however_many_processes_make_it(folders, expected, tmp_path, processes):
    told = score_to_file(*folders, tmp_path / "scores.json", resamples=200, now=NOW, processes=processes)
    assert expected == (tmp_path / "scores.json").read_bytes()
    written = read_scores(tmp_path / "scores.json")
    assert [] == told["conversations"]
    assert {**written, "conversations": []} == json.loads(json.dumps(told))
    assert {"unreadable": 2, "not_in_ground_truth": 1, "duplicates": 1, "skipped": 1} == {
        name: len(listed) for name, listed in written["left_out"].items() if listed
    }
    assert [] == multiprocessing.active_children()


def test_no_file_is_lost_when_the_processes_are_killed(folders):
    files = files_of(folders)
    with scorers(folders, 1) as one:
        calm = [getattr(outcome, "line", outcome) for outcome in one.score(files)]
    with scorers(folders, 2) as two:
        outcomes = two.score(files)
        first = next(outcomes)
        for process in multiprocessing.active_children():
            process.kill()
        rest = list(outcomes)
    assert calm == [getattr(outcome, "line", outcome) for outcome in (first, *rest)]


def test_an_interrupt_ends_the_processes(folders):
    def interrupted():
        with scorers(folders, 2) as two:
            for _ in two.score(files_of(folders)):
                assert multiprocessing.active_children()
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [] == multiprocessing.active_children()


def test_a_system_without_processes_scores_all_the_same(folders, expected, tmp_path, monkeypatch):
    def refuse(*_arguments, **_options):
        raise OSError("no semaphores here")

    monkeypatch.setattr("concurrent.futures.ProcessPoolExecutor", refuse)
    score_to_file(*folders, tmp_path / "scores.json", resamples=200, now=NOW, processes=4)
    assert expected == (tmp_path / "scores.json").read_bytes()


def test_few_files_are_not_worth_a_process():
    assert 1 == pool.processes_for(2 * pool.FILES_PER_PROCESS - 1)
    assert 1 <= pool.processes_for(10**6) <= 16


def test_a_foreign_file_is_refused_before_anything_is_read(folders, tmp_path):
    target = tmp_path / "notes.txt"
    target.write_text("mine")
    with pytest.raises(DataError, match="is not a scores file"):
        score_to_file(tmp_path / "there is no such folder", folders[1], target)
    assert "mine" == target.read_text()


def test_what_cannot_be_scored_leaves_no_file(folders, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="There is no result"):
        score_to_file(tmp_path / "empty", folders[1], tmp_path / "scores.json")
    with pytest.raises(UsageError, match="at least 1"):
        score_to_file(*folders, tmp_path / "scores.json", resamples=0)
    assert not (tmp_path / "scores.json").exists()


@pytest.mark.parametrize("side", ["observedBehavior", "preferredBehavior"])
def test_scores_of_conversations_without_truth_on_one_side_are_read_again(tmp_path, side):
    raw = make_conversation(1, turns=3)
    for turn in raw["turns"]:
        for judgement in turn["annotations"]["binaryJudgements"]:
            judgement[side] = "na"
    (tmp_path / "truth").mkdir()
    (tmp_path / "truth" / "conversation_1.json").write_text(json.dumps(raw))
    write_result(tmp_path / "results", noisy_result(raw, 1))
    score_to_file(tmp_path / "results", tmp_path / "truth", tmp_path / "scores.json", resamples=50, now=NOW)
    assert 1 == len(load_scores(tmp_path / "scores.json").groups)
