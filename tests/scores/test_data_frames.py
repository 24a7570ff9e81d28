"""Data frames and exports of scores hold the numbers of the scores file, and nothing is lost on the way into a file."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from demo_scores import demo_scores_file
from planted import Plan, Skill, planted_scores

import attunebench
from attunebench.errors import DataError
from attunebench.scores.export import export_scores
from attunebench.scores.frames import ROWS
from attunebench.scores.loading import score_table
from attunebench.scores.table import ScoreTable

pd = pytest.importorskip("pandas", reason="data frames need the extra `data`")
pytest.importorskip("pyarrow", reason="Parquet needs the extra `data`")
RESULT = ["provider", "model", "mode", "conversation_id", "epoch"]


@pytest.fixture(scope="module")
def table() -> ScoreTable:
    return attunebench.load_scores(demo_scores_file())


@pytest.mark.slow
def test_means_over_conversations_are_the_aggregates(table: ScoreTable) -> None:
    conversations, models = table.conversations_df(), table.models_df()
    for row in models[models["n"] > 0].to_dict("records"):
        mine = conversations[(conversations["model"] == row["model"]) & (conversations["mode"] == row["mode"])]
        assert row["mean"] == pytest.approx(mine[row["metric"]].mean())
        assert row["n"] == mine[row["metric"]].count()


@pytest.mark.parametrize("block", ["binary_om", "binary_hp", "binary_om_hp", "binary_hp_hp"])
def test_accuracies_follow_from_the_answers(table: ScoreTable, block: str) -> None:
    answers = table.answers_df()
    labelled = answers[(answers["block"] == block) & answers["label"].notna()]
    right = labelled.assign(right=labelled["answer"] == labelled["label"]).groupby(["model", "conversation_id", "turn"])
    metric = f"{block[:9]}_accuracy{block[9:]}"
    turns = table.turns_df().set_index(["model", "conversation_id", "turn"])[metric].dropna()
    found = right["right"].mean()
    assert len(found) == len(turns) > 0
    pd.testing.assert_series_equal(turns, found.astype(float), check_names=False, check_like=True)


def test_the_oracle_gives_every_rating_and_choice_of_the_person(table: ScoreTable) -> None:
    answers = table.answers_df()
    oracle = answers[(answers["model"] == "oracle") & answers["block"].isin(["pairwise", "q1", "q2", "q3"])]
    assert set(oracle["answer"] == oracle["label"]) == {True}
    rated = answers[(answers["model"] == "oracle") & answers["label_rating"].notna()]
    assert {"tags", "post_panas", "four_branch"} == set(rated["block"])
    assert (rated["rating"] == rated["label_rating"]).all()


def test_a_table_is_shown_in_a_line(table: ScoreTable) -> None:
    assert len(repr(table)) < 200
    assert "majority" in repr(table)


def test_what_was_not_answered_is_missing_and_no_word(table: ScoreTable) -> None:
    answers = table.answers_df()
    assert answers["answer"].isna().any()
    assert "None" not in set(answers["answer"].dropna())


@pytest.mark.slow
@pytest.mark.parametrize("format", ["parquet", "csv", "jsonl"])
def test_an_export_holds_the_data_frames(table: ScoreTable, tmp_path: Path, format: Any) -> None:
    paths = export_scores(table, tmp_path / "out", format)
    assert {f"{name}.{format}" for name in ROWS} == {path.name for path in paths}
    read = {"parquet": pd.read_parquet, "csv": pd.read_csv, "jsonl": lambda path: pd.read_json(path, lines=True)}
    for path in paths:
        frame = getattr(table, f"{path.stem}_df")()
        found = read[format](path)
        assert list(frame.columns) == list(found.columns)
        assert len(frame) == len(found)
        for column in frame.select_dtypes("float64"):
            assert frame[column].to_numpy() == pytest.approx(found[column].astype(float).to_numpy(), nan_ok=True)


def test_an_export_replaces_no_file_unasked(table: ScoreTable, tmp_path: Path) -> None:
    (tmp_path / "turns.csv").write_text("mine")
    with pytest.raises(DataError):
        export_scores(table, tmp_path, "csv")
    assert ["turns.csv"] == [path.name for path in tmp_path.iterdir()]
    assert "mine" == (tmp_path / "turns.csv").read_text()
    export_scores(table, tmp_path, "csv", overwrite=True)
    assert "mine" != (tmp_path / "turns.csv").read_text()


def test_no_cell_of_a_csv_is_a_formula(tmp_path: Path) -> None:
    scores = planted_scores({"=cmd": Skill()}, Plan(conversations=2))
    table = score_table(scores)
    export_scores(table, tmp_path, "csv")
    with (tmp_path / "models.csv").open(newline="") as file:
        assert {"'=cmd"} == {row["model"] for row in csv.DictReader(file)}
    export_scores(table, tmp_path, "jsonl")
    assert "=cmd" == json.loads((tmp_path / "models.jsonl").read_text("utf-8").splitlines()[0])["model"]


def test_a_choice_without_a_comparison_among_the_labels_has_no_label() -> None:
    scores = planted_scores({"m": Skill()}, Plan(conversations=1))
    for turn in scores["ground_truth"][0]["turns"]:
        turn["comparisons"] = []
    answers = score_table(scores).answers_df()
    assert answers[answers["block"] == "pairwise"]["label"].isna().all()
