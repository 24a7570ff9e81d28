"""`attune-bench import-inspect`: logs of the real Inspect → files that score as Inspect showed."""

from __future__ import annotations

import json
import sys

import pytest
from typer.testing import CliRunner

from attunebench import api
from attunebench.cli.main import app
from attunebench.errors import DataError

inspect_ai = pytest.importorskip("inspect_ai", reason="needs inspect_ai, the extra `inspect`")


def run(*words):
    return CliRunner().invoke(app, ["import-inspect", *map(str, words)])


def results(folder):
    return {path.name: json.loads(path.read_text()) for path in sorted(folder.glob("[!_]*.json"))}


def shown(log):
    return {name: metric.value for name, metric in log.results.scores[0].metrics.items()}


@pytest.mark.parametrize("form", ["eval", "json"])
def test_imported_results_score_as_inspect_showed(evaluated, talks, tmp_path, form):
    log = evaluated("baseline/lexicon", {"log_format": form}, conversations=str(talks))
    out = tmp_path / "out"
    assert 0 == run(log.location, "-o", out).exit_code
    (group,) = api.score(out, talks, resamples=100)["aggregates"]
    assert ("baseline", "lexicon", 4) == (group["provider"], group["em_model"], group["n_conversations"])
    for name in ("composite", "emotion_va", "answered_rate"):
        assert pytest.approx(shown(log)[name], abs=1e-9) == group["metrics"][name]["mean"]
        assert pytest.approx(shown(log)[f"{name}_stderr"], abs=1e-9) == group["metrics"][name]["se"]


def test_a_log_of_one_epoch_says_nothing_of_epochs(evaluated, talks, tmp_path):
    log = evaluated("baseline/lexicon", {"limit": 1}, conversations=str(talks))
    run(log.location, "-o", tmp_path / "out")
    assert [None] == [result["epoch"] for result in results(tmp_path / "out").values()]


def test_epochs_of_a_log_are_epochs_of_results(evaluated, talks, tmp_path):
    log = evaluated("baseline/lexicon", {"limit": 1, "epochs": 2}, conversations=str(talks))
    run(log.location, "-o", tmp_path / "out")
    assert [1, 2] == [result["epoch"] for result in results(tmp_path / "out").values()]
    (group,) = api.score(tmp_path / "out", talks, resamples=100)["aggregates"]
    assert 1 == group["n_conversations"]


def test_a_run_takes_an_imported_result_for_its_own(evaluated, talks, tmp_path):
    from attunebench import ModelSettings, RunSettings

    log = evaluated("baseline/lexicon", {"limit": 3}, conversations=str(talks))
    run(log.location, "-o", tmp_path / "out")
    settings = RunSettings(em=ModelSettings(provider="baseline", model="lexicon"), output=tmp_path / "out")
    summary = api.run(talks, settings)
    assert (3, 1) == (summary.complete_before, summary.written)


FAILING = iter(())
"""For each request to `flaky/words`, whether it fails; none any more where it ends."""


@inspect_ai.model.modelapi(name="flaky")
def flaky():
    """A model that can be made again from a log, as a retry does."""

    class Flaky(inspect_ai.model.ModelAPI):
        async def generate(self, input, tools, tool_choice, config):
            if next(FAILING, False):
                raise RuntimeError("server down")
            output = inspect_ai.model.ModelOutput.from_content(self.model_name, "words")
            output.usage = inspect_ai.model.ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
            return output

    return Flaky


def test_a_failed_sample_is_skipped_until_a_retry_has_it(evaluated, talks, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "FAILING", iter([True]))
    log = evaluated("flaky/words", conversations=str(talks), max_reasks=0)
    out = tmp_path / "out"
    first = run(log.location, "-o", out)
    (entry,) = json.loads((out / "_skipped_words.json").read_text())["skipped"]
    assert (1, 3) == (first.exit_code, len(results(out)))
    assert "server down" in entry["reason"]
    assert entry["run_again"].startswith("inspect eval-retry ")

    inspect_ai.eval_retry(log, log_dir=str(tmp_path / "logs"), display="none")
    second = run(tmp_path / "logs", "-o", out)
    assert 0 == second.exit_code, second.output
    assert "1 result written" in second.output
    assert "6 already there" in second.output
    assert not (out / "_skipped_words.json").exists()


def test_what_a_cancelled_log_did_not_reach_is_counted(evaluated, talks, tmp_path):
    log = evaluated("baseline/lexicon", conversations=str(talks))
    log.samples = log.samples[:3]
    log.status = "cancelled"
    partial = tmp_path / "partial.json"
    inspect_ai.log.write_eval_log(log, str(partial))
    found = run(partial, "-o", tmp_path / "out")
    assert 1 == found.exit_code
    assert "1 sample never finished" in found.output
    assert 3 == len(results(tmp_path / "out"))


def test_a_sample_that_was_declared_invalid_is_no_result(evaluated, talks, tmp_path):
    log = evaluated("baseline/lexicon", {"limit": 2}, conversations=str(talks))
    log = inspect_ai.log.invalidate_samples(
        log, [log.samples[0].uuid], inspect_ai.log.ProvenanceData(author="me", reason="why not")
    )
    inspect_ai.log.write_eval_log(log, str(tmp_path / "edited.eval"))
    found = run(tmp_path / "edited.eval", "-o", tmp_path / "out")
    assert "declared invalid" in found.output
    assert 1 == len(results(tmp_path / "out"))


def test_a_store_that_is_in_the_events_alone_is_enough(evaluated, talks, tmp_path):
    """So Inspect recovers the samples of an evaluation that was killed."""
    log = evaluated("baseline/lexicon", {"limit": 1}, conversations=str(talks))
    whole = inspect_ai.log.read_eval_log(log.location, resolve_attachments="full")
    before = whole.samples[0].store["attunebench"]["result"]
    whole.samples[0].store = {}
    inspect_ai.log.write_eval_log(whole, str(tmp_path / "recovered.eval"))
    assert 0 == run(tmp_path / "recovered.eval", "-o", tmp_path / "out").exit_code
    (result,) = results(tmp_path / "out").values()
    assert {**before, "epoch": None} == result


def other_log(tmp_path):
    task = inspect_ai.Task(dataset=[inspect_ai.dataset.Sample(input="hi", target="x")], name="other")
    (log,) = inspect_ai.eval(task, model="flaky/words", log_dir=str(tmp_path / "others"), display="none")
    return log.location


def test_a_log_of_another_task_is_named_and_refused(tmp_path):
    found = run(other_log(tmp_path), "-o", tmp_path / "out").exception
    assert isinstance(found, DataError)
    assert "a log of the task other, not of attunebench" in str(found)


def test_a_log_of_another_task_in_a_folder_is_passed_over(evaluated, talks, tmp_path):
    evaluated("baseline/lexicon", {"limit": 1}, conversations=str(talks))
    other_log(tmp_path)
    (tmp_path / "logs" / "notes.json").write_text('{"not": "a log"}')
    found = run(tmp_path, "-o", tmp_path / "out")
    assert 1 == found.exit_code
    assert 2 == found.output.count("Skipped")
    assert 1 == len(results(tmp_path / "out"))


def test_what_inspect_writes_beside_a_sets_logs_is_nothing_wrong(evaluated, talks, tmp_path):
    evaluated("baseline/lexicon", {"limit": 1}, conversations=str(talks))
    for name in ("eval-set.json", "logs.json"):
        (tmp_path / "logs" / name).write_text("{}")
    found = run(tmp_path / "logs", "-o", tmp_path / "out")
    assert (0, 0) == (found.exit_code, found.output.count("Skipped"))


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04cut", b'{"version": 2', b'{"version": 2, "eval": {}}', b"\0" * 99]
)
@pytest.mark.parametrize("name", ["a.eval", "a.json"])
def test_a_damaged_log_is_one_sentence(tmp_path, content, name):
    (tmp_path / name).write_bytes(content)
    found = run(tmp_path / name, "-o", tmp_path / "out").exception
    assert isinstance(found, DataError)
    assert "cannot be read as an Inspect log" in str(found)
    assert not (tmp_path / "out").exists()


def test_a_file_of_another_kind_is_named(tmp_path):
    (tmp_path / "a.txt").write_text("")
    assert "is not an Inspect log" in str(run(tmp_path / "a.txt").exception)
