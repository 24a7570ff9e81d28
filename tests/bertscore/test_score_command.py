"""`attune-bench score --bertscore` from the files to the report."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from factory import make_conversation, write_conversations
from result_factory import noisy_result, oracle_result, write_result
from tiny_models import tiny_bert
from typer.testing import CliRunner

from attunebench.cli.main import app
from attunebench.errors import DataError

WHY = "BERTScore needs torch and transformers, the extra `bertscore`"
pytest.importorskip("torch", reason=WHY)
pytest.importorskip("transformers", reason=WHY)

IDS = ["bertscore_original", "bertscore_alternate", "bertscore_human", "bertscore_max"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    path = tmp_path_factory.mktemp("command")
    write_conversations(path / "truth", 4, turns=2)
    for seed in range(4):
        raw = make_conversation(seed, turns=2)
        write_result(path / "a", oracle_result(raw, model="a", provider="test"))
        write_result(path / "b", noisy_result(raw, 1, model="b"))
    return path


def run(*words):
    return CliRunner().invoke(app, list(map(str, words)))


def scored(folders, name, results, *options):
    target = folders / name
    paths = ("--results", folders / results, "--ground-truth", folders / "truth", "-o", target)
    done = run("score", *paths, "--resamples", 50, *options)
    assert 0 == done.exit_code, done.output
    return done, json.loads(target.read_text("utf-8"))


def with_bert(bert, layer=2):
    return ("--bertscore-model", bert, "--bertscore-layer", layer)


def test_scores_are_there_and_two_runs_are_the_same(folders, bert):
    done, scores = scored(folders, "one.json", "a", *with_bert(bert))
    assert "Loading" in done.stderr
    _, again = scored(folders, "two.json", "a", "--bertscore", *with_bert(bert))
    again["metadata"]["created"] = scores["metadata"]["created"]
    assert again == scores
    assert {1.0} == {entry["metrics"]["bertscore_human"] for entry in scores["conversations"]}
    assert ("bert", 2) == (scores["metadata"]["bertscore"]["model"], scores["metadata"]["bertscore"]["layer"])


def test_nothing_else_changes(folders, bert):
    _, plain = scored(folders, "plain.json", "b")
    done, scores = scored(folders, "more.json", "b", *with_bert(bert))
    assert scores["metadata"].pop("bertscore")["texts_cut"] > 0
    assert "by their first 64 tokens only" in done.stderr
    for whole in (plain, scores):
        whole["metadata"].pop("created")
        for entry in whole["conversations"]:
            for held in (entry, *entry["turns"]):
                for metric_id in IDS:
                    held["metrics"].pop(metric_id)
        for group in whole["aggregates"]:
            for metric_id in IDS:
                group["metrics"].pop(metric_id)
    assert plain == scores


def test_the_report_shows_them_with_the_model_and_not_where_nobody_asked(folders, bert):
    scored(folders, "shown.json", "a", *with_bert(bert))
    shown = " ".join(run("report", "-s", folders / "shown.json", "--all").stdout.split())
    assert "BERTScore with bert (layer 2, weights" in shown
    assert "Draft BERTScore, closest reply" in shown
    scored(folders, "plain.json", "a")
    assert "BERTScore" not in run("report", "-s", folders / "plain.json", "--all").stdout


def test_compare_refuses_two_language_models_for_these_metrics_alone(folders, bert, tmp_path):
    scored(folders, "a.json", "a", *with_bert(bert))
    scored(folders, "b.json", "b", *with_bert(tiny_bert(tmp_path / "other", seed=5)))
    files = (folders / "a.json", folders / "b.json")
    assert 0 == run("compare", *files).exit_code
    refused = run("compare", *files, "--metric", "bertscore_max").exception
    assert isinstance(refused, DataError)
    assert "comes from different language models: bert (weights" in str(refused)


def test_a_model_that_is_not_to_be_had_ends_in_a_sentence_before_anything_is_written(folders):
    target = folders / "never.json"
    paths = ("--results", folders / "a", "--ground-truth", folders / "truth", "-o", target)
    refused = run("score", *paths, "--bertscore-model", "/no/such").exception
    assert isinstance(refused, DataError)
    assert "There is no folder /no/such" in str(refused)
    assert not target.exists()


def test_torch_is_not_imported_unless_asked_for(folders):
    code = (
        "import sys; from typer.testing import CliRunner; from attunebench.cli.main import app;"
        "done = CliRunner().invoke(app, sys.argv[1:]); assert not done.exit_code, done.output;"
        "sys.exit(int(bool({'torch', 'transformers', 'huggingface_hub'} & set(sys.modules))))"
    )
    paths = ("--results", folders / "a", "--ground-truth", folders / "truth", "-o", folders / "light.json")
    assert 0 == subprocess.run([sys.executable, "-c", code, "score", *map(str, paths)], check=False).returncode
