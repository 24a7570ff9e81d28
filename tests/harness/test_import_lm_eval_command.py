"""`attune-bench import-lm-eval` on logs as the framework writes them, which nothing here needs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from scripted_replies import baseline_replies, key_of
from typer.testing import CliRunner

import attunebench
from attunebench.backends.base import Reply
from attunebench.cli.main import app
from attunebench.conversations.loading import demo_folder
from attunebench.errors import DataError, UsageError
from attunebench.harness.common import study_of
from attunebench.harness.lm_eval.__main__ import TASKS
from attunebench.protocol.modes import MODES
from attunebench.runner import ModelSettings


def log_of(folder, model="some/model", repeats=1, baseline="lexicon", documents=3):
    """A log of the first documents, and the results in it."""
    em, replies = ModelSettings(provider="lm-eval", model=model), baseline_replies(baseline)
    study = study_of(em, structured="text", max_reasks=0)

    def result(conversation, repeat):
        job = study.job(conversation, "default")
        for asked in job.open:
            job.add(asked, study.entry(asked, Reply(text=replies[key_of(asked.call)])))
        return study.result(job, epoch=repeat if repeats > 1 else None)

    conversations = list(study.conversations.values())[:documents]
    found = [[result(each, repeat) for repeat in range(1, repeats + 1)] for each in conversations]
    path = folder / f"samples_attunebench_{model.replace('/', '-')}-{baseline}.jsonl"
    lines = [json.dumps({"doc_id": i, "target": "", "results": results}) for i, results in enumerate(found)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_the_folder_holds_a_task_for_each_mode():
    names = {path.stem for path in TASKS.glob("*.yaml")}
    assert {"attunebench", *(f"attunebench_{mode}" for mode in MODES[1:])} == names


def test_the_folder_is_printed_without_the_framework():
    command = [sys.executable, "-m", "attunebench.harness.lm_eval"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert TASKS == Path(printed.rstrip("\n"))


def command(*words):
    return CliRunner().invoke(app, ["import-lm-eval", *map(str, words)])


def test_results_of_a_log_are_scored_as_they_were_there(tmp_path):
    done = command(log_of(tmp_path), "-o", tmp_path / "results")
    assert "3 results written" in done.stderr
    scores = attunebench.score(tmp_path / "results", demo_folder())
    assert [("lm-eval", "some/model", 3)] == [
        (group["provider"], group["em_model"], group["n_conversations"]) for group in scores["aggregates"]
    ]


def test_repeats_become_epochs(tmp_path):
    command(log_of(tmp_path, repeats=2), "-o", tmp_path / "results")
    assert 6 == len(list((tmp_path / "results").glob("*.json")))
    assert 3 == attunebench.score(tmp_path / "results", demo_folder())["aggregates"][0]["n_conversations"]


def test_a_folder_stands_for_the_logs_in_it_and_twice_is_once(tmp_path):
    log_of(tmp_path)
    log_of(tmp_path, model="another")
    assert "6 results written" in command(tmp_path, "-o", tmp_path / "results").stderr
    assert "0 results written" in (again := command(tmp_path, "-o", tmp_path / "results").stderr)
    assert "6 already there" in again


def test_other_answers_of_the_same_model_are_refused(tmp_path):
    command(log_of(tmp_path), "-o", tmp_path / "results")
    before = {path.name: path.read_bytes() for path in (tmp_path / "results").iterdir()}
    refused = command(log_of(tmp_path, baseline="random"), "-o", tmp_path / "results")
    assert isinstance(refused.exception, DataError)
    assert before == {path.name: path.read_bytes() for path in (tmp_path / "results").iterdir()}


def test_a_log_with_other_answers_keeps_no_other_log_out(tmp_path):
    """Whichever of the two comes first is taken; the third log is of another model."""
    logs = [log_of(tmp_path), log_of(tmp_path, baseline="random"), log_of(tmp_path, model="z")]
    done = command(*logs, "-o", tmp_path / "results")
    assert 1 == done.exit_code
    assert 1 == done.stderr.count("never replaced")
    assert "6 results written" in done.stderr


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"doc_id": 0, "exact_match": 1.0}\n', "another task"),
        (b'{"doc_id": 0, "results": []}\n', "another task"),
        (b'{"doc_id": 0, "resul', "line 1 is damaged"),
        (b"[" * 100_000, "line 1 is damaged"),
        (b"\xff\xfe\n", "cannot be read"),
        (b"\n", "no samples"),
        (b'{"results": [{"conversationId": 5}]}\n', "cannot be read"),
    ],
)
def test_a_file_that_is_no_log_of_ours_is_named_and_writes_nothing(tmp_path, content, said):
    path = tmp_path / "samples.jsonl"
    path.write_bytes(content)
    done = command(path, "-o", tmp_path / "results")
    assert isinstance(done.exception, DataError)
    assert said in str(done.exception)
    assert not list((tmp_path / "results").glob("*.json"))


def test_a_place_without_a_log_is_named(tmp_path):
    done = command(tmp_path, "-o", tmp_path / "results")
    assert isinstance(done.exception, UsageError)
    assert "--log_samples" in str(done.exception)
