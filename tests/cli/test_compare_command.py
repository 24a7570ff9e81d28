"""`attune-bench compare`: what it reads, writes and refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plain_scores import plain_scores

from attunebench.metrics.composite import PILLAR_WEIGHTS


def write(path: Path, skills: dict[str, float], *, seed: int = 0, **more: Any) -> Path:
    rng = np.random.default_rng(seed)
    models = {}
    for name, skill in skills.items():
        pillars = {pillar: skill + 0.05 * rng.standard_normal(30) for pillar in PILLAR_WEIGHTS}
        composite = 100 * sum(weight * pillars[pillar] for pillar, weight in PILLAR_WEIGHTS.items())
        models[name] = {**pillars, "composite": composite, "pairwise_accuracy": pillars["evaluation_quality"]}
    path.write_text(json.dumps(plain_scores(models, **more)), encoding="utf-8")
    return path


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    return write(tmp_path / "scores.json", {"good": 0.8, "fair": 0.6, "poor": 0.3})


def quick(cli: Callable[..., Any], *words: str | Path) -> Any:
    return cli("compare", *words, "--resamples", "200")


def test_scores_json_here_is_the_default(cli: Callable[..., Any], scores: Path) -> None:
    ended = quick(cli)
    assert (0, "") == (ended.status, ended.err)
    assert "3 of 3 pairs" in ended.out
    assert quick(cli, scores).out == quick(cli, "-s", scores).out == ended.out


def test_two_calls_print_the_same(cli: Callable[..., Any], scores: Path) -> None:
    assert quick(cli, "--format", "json").out == quick(cli, "--format", "json").out


def test_models_may_stand_behind_one_option_or_several(cli: Callable[..., Any], scores: Path) -> None:
    one = quick(cli, scores, "--models", "good", "poor", "--format", "csv")
    assert quick(cli, "--models", "good,poor", "--format", "csv").out == one.out
    assert quick(cli, "--models", "good", "--models", "poor", "--format", "csv").out == one.out
    assert "fair" not in one.out


def test_several_files_are_compared(cli: Callable[..., Any], scores: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "other.json", {"next": 0.7}, seed=1)
    assert "of 6 pairs" in quick(cli, scores, other).out


def test_files_that_do_not_compare_are_refused_by_name_and_can_be_forced(
    cli: Callable[..., Any], scores: Path, tmp_path: Path
) -> None:
    other = write(tmp_path / "other.json", {"next": 0.7}, labels={"c001": "x"})
    refused = quick(cli, "scores.json", "other.json")
    assert 2 == refused.status
    assert "other.json was scored on different labels" in refused.err
    assert "" == refused.out
    forced = quick(cli, scores, other, "--force")
    assert 0 == forced.status
    assert "NOT COMPARABLE" in forced.out


def test_a_csv_says_warnings_beside_it(cli: Callable[..., Any], tmp_path: Path) -> None:
    write(tmp_path / "scores.json", {"a": 0.8, "b": 0.3}, sources=["synthetic-demo"])
    ended = quick(cli, "--format", "csv")
    assert "demonstration" in ended.err
    assert "demonstration" not in ended.out


def test_the_terminal_shows_one_screen_and_all_when_asked(
    cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    write(tmp_path / "scores.json", {f"m{i}": 0.3 + 0.05 * i for i in range(5)})
    brief, full = quick(cli).out, quick(cli, "--full").out
    assert len(brief.splitlines()) <= 45
    assert re.search(r"… and \d+ more", brief)
    assert all(f"m{i} " in brief for i in range(5))
    assert all(word in brief for word in ("MDE", "p corr.", " 30 "))  # what could be found, how sure, over how many
    assert "all 10 pairs" in full
    assert "all 10 pairs" not in brief


def test_json_holds_every_pair_with_all_that_is_known_of_it(cli: Callable[..., Any], scores: Path) -> None:
    document = json.loads(quick(cli, "--metric", "pairwise_accuracy", "--format", "json").out)
    (pairs,) = (table for table in document["analyses"][0]["tables"] if table["id"] == "pairs_pairwise_accuracy")
    assert 3 == len(pairs["rows"])
    expected = {"ahead", "behind", "difference", "p", "p_corrected", "told_apart", "mde", "mde_corrected", "n"}
    assert expected <= set(pairs["rows"][0])
    assert {"value", "low", "high"} <= set(pairs["rows"][0]["difference"])


def test_the_scores_are_never_written_over(cli: Callable[..., Any], scores: Path) -> None:
    before = scores.read_bytes()
    assert 2 == quick(cli, "-o", scores).status
    assert before == scores.read_bytes()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--metric", "nothing"), "There is no metric 'nothing'"),
        (("--mode", "nothing"), "Nothing was scored in mode 'nothing'; there is default."),
        (("--models", "goood"), "Did you mean good"),
        (("--models", "good"), "requires two"),
        (("--cluster", "town"), "--cluster"),
        (("missing.json",), "missing.json cannot be read"),
        (("--alpha", "0"), "--alpha"),
    ],
)
def test_bad_input_is_answered_in_a_sentence(
    cli: Callable[..., Any], scores: Path, words: tuple[str, ...], expected: str
) -> None:
    ended = quick(cli, *words)
    assert ended.status in (1, 2)
    assert expected in ended.err
    assert "Traceback" not in ended.err


def test_a_terminal_shows_the_pairs_of_the_first_mode_and_says_where_the_others_are(
    cli: Callable[..., Any], tmp_path: Path
) -> None:
    column = {"composite": np.linspace(40.0, 60.0, 25)}
    modes = {"default": column, "verbose": column}
    (tmp_path / "scores.json").write_text(json.dumps(plain_scores({"a": modes, "b": modes})), encoding="utf-8")
    words = ("--metric", "composite")
    brief = quick(cli, *words).out
    assert 1 == brief.count("The pair\n")
    assert "mode verbose" in " ".join(brief.split())
    assert 2 == quick(cli, *words, "--full").out.count("the pair\n")
    assert 2 == quick(cli, *words, "--format", "markdown").out.count("the pair\n")
