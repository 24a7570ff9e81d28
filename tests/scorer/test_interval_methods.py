"""`--ci bca`: which interval stands where, and that scores.json, reports and the command line say so."""

from __future__ import annotations

import pytest
from factory import make_conversation, write_conversations
from result_factory import noisy_result, oracle_result, write_result
from typer.testing import CliRunner

from attunebench.cli.main import app
from attunebench.errors import UsageError
from attunebench.reports import render
from attunebench.scorer import score_folders
from attunebench.scores import read_scores


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Eight conversations of a few participants, answered by a noisy model and by one that is always right."""
    path = tmp_path_factory.mktemp("folders")
    write_conversations(path / "truth", 8, turns=3)
    for seed in range(8):
        raw = make_conversation(seed, turns=3)
        write_result(path / "results", noisy_result(raw, 1))
        write_result(path / "results", oracle_result(raw))
    return path / "results", path / "truth"


@pytest.fixture(scope="module")
def both(folders):
    return [score_folders(*folders, resamples=500, ci=ci) for ci in ("percentile", "bca")]


def metrics(scores, model):
    return next(entry["metrics"] for entry in scores["aggregates"] if entry["em_model"] == model)


def test_bca_moves_the_bounds_and_nothing_else(both):
    plain, corrected = (metrics(scores, "noisy") for scores in both)
    one, other = plain["composite"], corrected["composite"]
    assert [one[key] for key in ("mean", "n", "se")] == [other[key] for key in ("mean", "n", "se")]
    assert (one["ci_low"], one["ci_high"]) != (other["ci_low"], other["ci_high"])
    assert "bca" == other["ci_method"]
    assert "ci_method" not in one


def test_where_nothing_varies_there_is_no_interval_whatever_the_method(both):
    plain, corrected = (metrics(scores, "oracle") for scores in both)
    assert plain["emotion_va"] == corrected["emotion_va"]
    assert (None, None) == (plain["emotion_va"]["ci_low"], plain["emotion_va"]["ci_high"])


def test_a_share_of_right_answers_that_does_not_vary_has_wilsons_interval_whatever_the_method(both):
    plain, corrected = (metrics(scores, "oracle")["pairwise_accuracy"] for scores in both)
    assert plain == corrected
    assert "wilson" == plain["ci_method"]
    assert plain["ci_low"] < plain["mean"] == plain["ci_high"] == 1


def test_the_file_says_which_intervals_it_holds(both):
    assert ["percentile bootstrap", "BCa bootstrap"] == [scores["metadata"]["intervals"]["method"] for scores in both]


def test_a_report_says_which_intervals_it_shows(both):
    plain, corrected = (render(scores, format="markdown") for scores in both)
    assert "95 % bootstrap interval" in plain
    assert "95 % BCa bootstrap interval over conversations (percentile where BCa is undefined)" in corrected


def test_the_command_takes_it_and_refuses_another(folders, tmp_path):
    paths = ["score", "--results", str(folders[0]), "--ground-truth", str(folders[1])]
    target = tmp_path / "scores.json"
    done = CliRunner().invoke(app, [*paths, "-o", str(target), "--resamples", "100", "--ci", "bca", "--seed", "3"])
    assert 0 == done.exit_code, done.output
    assert "BCa bootstrap" == read_scores(target)["metadata"]["intervals"]["method"]
    refused = CliRunner().invoke(app, [*paths, "-o", str(tmp_path / "other.json"), "--ci", "wald"])
    assert 2 == refused.exit_code
    assert not (tmp_path / "other.json").exists()


def test_an_interval_that_does_not_exist_is_a_usage_error(folders):
    with pytest.raises(UsageError, match="percentile or bca"):
        score_folders(*folders, ci="wald")


def test_clustered_bca_is_made_over_participants(folders, both):
    clustered = score_folders(*folders, resamples=500, ci="bca", cluster="participant")
    one, other = metrics(both[1], "noisy")["composite"], metrics(clustered, "noisy")["composite"]
    assert "bca" == other["ci_method"]
    assert (one["ci_low"], one["ci_high"]) != (other["ci_low"], other["ci_high"])
