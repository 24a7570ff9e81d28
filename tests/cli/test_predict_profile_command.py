"""`attune-bench predict-profile` as a user meets it: asking, tables, the same again without asking, and bad input."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from attunebench.conversations import demo_folder
from attunebench.conversations.traits import TRAITS
from attunebench.profiles.tables import PRIVACY

if TYPE_CHECKING:
    from conftest import Command

FAST = ("--resamples", "100")


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    return Path(shutil.copytree(demo_folder(), tmp_path / "demo"))


def tables(text: str) -> dict[str, list[dict[str, Any]]]:
    (analysis,) = json.loads(text)["analyses"]
    return {table["id"]: table["rows"] for table in analysis["tables"]}


def test_the_oracle_is_right_of_everything_it_has_a_truth_for(cli: Command, demo: Path) -> None:
    ended = cli("predict-profile", "baseline", "oracle", demo, "--format", "json", *FAST)
    assert 0 == ended.status
    found = tables(ended.out)
    assert {1.0} == {row["accuracy"]["value"] for row in found["accuracy"]}
    assert {0.0} == {row["error"]["value"] for row in found["scales"]}
    assert len(TRAITS) + 4 == len(found["accuracy"])


@pytest.mark.parametrize("model", ["random", "majority", "no-change", "lexicon"])
def test_every_baseline_can_be_asked(cli: Command, demo: Path, model: str) -> None:
    ended = cli("predict-profile", "baseline", model, demo, "--format", "json", *FAST)
    assert 0 == ended.status
    assert {1.0} == {row["answered"]["value"] for row in tables(ended.out)["answers"]}


def test_predictions_go_into_a_folder_of_their_own(cli: Command, demo: Path, tmp_path: Path) -> None:
    cli("predict-profile", "baseline", "majority", demo, *FAST)
    names = sorted(path.name for path in (tmp_path / "profiles").iterdir() if path.suffix == ".json")
    assert 12 == len(names)
    assert all(name.endswith("_baseline_majority_profile.json") for name in names)
    assert not (tmp_path / "results").exists()


def test_score_only_shows_the_same_again_and_asks_nobody(cli: Command, demo: Path, tmp_path: Path) -> None:
    first = cli("predict-profile", "baseline", "random", demo, "--seed", "4", *FAST)
    before = {path: path.read_bytes() for path in (tmp_path / "profiles").iterdir() if path.is_file()}
    again = cli("predict-profile", "baseline", "random", "-d", demo, "--score-only", *FAST)
    assert (0, first.out, "") == (again.status, again.out, again.err)
    assert before == {path: path.read_bytes() for path in (tmp_path / "profiles").iterdir() if path.is_file()}


@pytest.mark.parametrize("form", ["markdown", "csv", "json"])
def test_privacy_is_told_once_whatever_the_format(cli: Command, demo: Path, form: str) -> None:
    ended = cli("predict-profile", "baseline", "majority", demo, "-f", form, *FAST)
    assert 1 == (ended.out + ended.err).count(PRIVACY)


def test_privacy_is_told_in_the_help_too(cli: Command) -> None:
    told = " ".join(cli("predict-profile", "--help").out.split())
    assert "EXPERIMENTAL" in told
    assert "PRIVACY: this infers health and traits" in told


def test_the_demonstration_s_eight_people_are_too_few_for_a_claim(cli: Command, demo: Path) -> None:
    ended = cli("predict-profile", "baseline", "oracle", demo, *FAST)
    assert "8 participants: fewer than 20, too few for a claim." in ended.out
    assert "12 results written to profiles" in ended.err


def test_scores_go_to_a_file_where_one_is_named(cli: Command, demo: Path, tmp_path: Path) -> None:
    words = ("--output-scores", "profile-scores.json", "--format", "json", *FAST)
    ended = cli("predict-profile", "baseline", "oracle", demo, *words)
    assert (0, "") == (ended.status, ended.out)
    assert {"accuracy", "answers", "scales"} == set(tables((tmp_path / "profile-scores.json").read_text()))


def test_a_dry_run_counts_one_call_a_conversation(cli: Command, demo: Path, tmp_path: Path) -> None:
    ended = cli("predict-profile", "baseline", "majority", demo, "--dry-run")
    assert ended.out.startswith("12 pending, 0 complete")
    assert any(line.split()[:2] == ["profile", "12"] for line in ended.out.splitlines())
    assert not (tmp_path / "profiles").exists()


def test_no_predictions_to_score_is_one_sentence(cli: Command, demo: Path) -> None:
    nowhere = cli("predict-profile", "baseline", "majority", demo, "--score-only")
    assert (2, "") == (nowhere.status, nowhere.out)
    assert "There is no folder profiles" in nowhere.err
    cli("predict-profile", "baseline", "majority", demo, *FAST)
    other = cli("predict-profile", "local", "m", demo, "--score-only")
    assert 2 == other.status
    assert "profiles has no predicted profiles of local m; it contains those of baseline majority." in other.err


def test_a_prediction_that_cannot_be_scored_is_named_and_makes_the_status_1(
    cli: Command, demo: Path, tmp_path: Path
) -> None:
    cli("predict-profile", "baseline", "majority", demo, *FAST)
    next(demo.glob("conversation_1001.json")).unlink()
    ended = cli("predict-profile", "baseline", "majority", demo, "--score-only", *FAST)
    assert 1 == ended.status
    assert "Not scored, because the conversation is missing" in " ".join(ended.out.split())


@pytest.mark.parametrize(
    "words",
    [
        ("predict-profile", "baseline", "majority"),
        ("predict-profile", "baseline", "nobody", "demo"),
        ("predict-profile", "baseline", "majority", "nowhere"),
        ("predict-profile", "nobody", "m", "demo"),
        ("predict-profile", "local", "m", "demo"),
        ("predict-profile", "baseline", "majority", "demo", "--structured", "loosely"),
        ("predict-profile", "baseline", "majority", "demo", "--format", "poem"),
    ],
    ids=lambda words: " ".join(words[1:]),
)
def test_bad_usage_is_told_without_a_traceback(cli: Command, demo: Path, words: tuple[str, ...]) -> None:
    ended = cli(*words)
    assert (2, "") == (ended.status, ended.out)
    assert "Traceback" not in ended.err
    assert "bug" not in ended.err
    assert ended.err.strip()


def test_score_says_that_it_passes_over_profiles(cli: Command, demo: Path) -> None:
    cli("predict-profile", "baseline", "majority", demo, "-o", "mixed", *FAST)
    alone = cli("score", "--results", "mixed", "--ground-truth", demo)
    assert 2 == alone.status
    assert "predicted profiles" in alone.err
    cli("run", "baseline", "majority", demo, "-o", "mixed")
    both = cli("score", "--results", "mixed", "--ground-truth", demo)
    assert 0 == both.status
    assert "Ignored: 12 predicted profiles, which are not benchmark results." in both.err
