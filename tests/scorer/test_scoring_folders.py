"""From two folders to scores.json: groups, coverage, epochs, what is left out, and the file itself."""

from __future__ import annotations

import json
import statistics
from datetime import datetime, timezone

import pytest
from factory import make_conversation, write_conversations
from result_factory import noisy_result, oracle_result, write_result

from attunebench.errors import DataError, UsageError
from attunebench.metrics.registry import cards_of
from attunebench.scorer import score_folders
from attunebench.scores import read_scores, write_scores

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=timezone.utc)


@pytest.fixture
def folders(tmp_path):
    """Six conversations of three participants, a noisy model on all of them, the oracle on four."""
    write_conversations(tmp_path / "truth", 6, turns=3)
    for seed in range(6):
        raw = make_conversation(seed, turns=3)
        write_result(tmp_path / "results", noisy_result(raw, 1))
        if seed < 4:
            write_result(tmp_path / "results", oracle_result(raw))
    return tmp_path / "results", tmp_path / "truth"


def scored(folders, **options):
    return score_folders(*folders, resamples=500, now=NOW, **options)


def group(scores, model):
    return next(entry for entry in scores["aggregates"] if entry["em_model"] == model)


def test_each_group_has_every_metric_with_its_doubt(folders):
    scores = scored(folders)
    noisy = group(scores, "noisy")
    assert list(cards_of("attunebench")) == list(noisy["metrics"])
    values = [entry["metrics"]["emotion_va"] for entry in scores["conversations"] if entry["em_model"] == "noisy"]
    known = [value for value in values if value is not None]
    found = noisy["metrics"]["emotion_va"]
    assert len(known) == found["n"]
    assert statistics.fmean(known) == pytest.approx(found["mean"])
    assert statistics.stdev(known) / len(known) ** 0.5 == pytest.approx(found["se"])
    assert found["ci_low"] < found["mean"] < found["ci_high"]


def test_coverage_names_what_is_missing(folders):
    coverage = group(scored(folders), "oracle")["coverage"]
    missing = [make_conversation(seed, turns=3)["conversationId"] for seed in (4, 5)]
    expected = {"expected": 6, "scored": 4, "skipped": [], "duplicated": [], "missing": missing, "sample": None}
    assert expected == coverage


def ordered(folders, model, *orders):
    """The folders, with the place in their run's order that the model's results tell."""
    for file, order in zip(sorted(folders[0].glob(f"*{model}*")), orders, strict=True):
        result = json.loads(file.read_text())
        file.write_text(json.dumps({**result, "run_order": order}))
    return folders


def place(position, seed=0, of=6):
    return {"seed": seed, "position": position, "of": of}


def test_a_part_that_begins_a_runs_order_is_told_to_be_its_sample(folders):
    coverage = group(scored(ordered(folders, "oracle", *map(place, (2, 0, 4, 1)))), "oracle")["coverage"]
    assert {"seed": 0, "reached": 5, "of": 6} == coverage["sample"]


@pytest.mark.parametrize(
    "last",
    [place(3, seed=1), place(3, of=7), place(2), place(9), {"seed": 0}, None, "third", place(True)],
    ids=["another seed", "another set", "a place twice", "no such place", "half", "null", "a word", "a boolean"],
)
def test_a_part_of_which_that_is_not_certain_is_no_sample(folders, last):
    orders = [*map(place, (0, 1, 2)), last]
    assert group(scored(ordered(folders, "oracle", *orders)), "oracle")["coverage"]["sample"] is None


def test_all_of_a_set_is_no_sample_of_it(folders):
    orders = map(place, range(6))
    assert group(scored(ordered(folders, "noisy", *orders)), "noisy")["coverage"]["sample"] is None


def test_a_model_that_a_run_skipped_throughout_does_not_vanish(folders):
    lost = make_conversation(0, turns=3)["conversationId"]
    entry = {"provider": "p", "model": "down", "conversationId": lost, "mode": "default", "reason": "timed out"}
    (folders[0] / "_skipped_down.json").write_text(json.dumps({"skipped": [entry]}))
    scores = scored(folders)
    down = group(scores, "down")
    assert (0, [lost]) == (down["n_conversations"], down["coverage"]["skipped"])
    assert {"mean": None, "n": 0, "se": None, "ci_low": None, "ci_high": None} == down["metrics"]["composite"]
    assert "timed out" == scores["left_out"]["skipped"][0]["reason"]


def test_one_conversation_gives_no_interval(folders):
    for file in folders[0].glob("*noisy*"):
        if make_conversation(2, turns=3)["conversationId"] not in file.name:
            file.unlink()
    found = group(scored(folders), "noisy")["metrics"]["neutral_turn_share"]
    assert (1, None, None, None) == (found["n"], found["se"], found["ci_low"], found["ci_high"])


def test_epochs_are_averaged_before_conversations(folders):
    raw = make_conversation(0, turns=3)
    silent = oracle_result(raw)
    for turn in silent["turns"]:
        turn["em_pairwise_selections"] = None
    write_result(folders[0], {**silent, "epoch": 2}, "epoch2.json")
    oracle = group(scored(folders), "oracle")
    assert (4, 4) == (oracle["n_conversations"], oracle["metrics"]["pairwise_accuracy"]["n"])
    assert pytest.approx((0.5 + 3) / 4) == oracle["metrics"]["pairwise_accuracy"]["mean"]


def test_rates_are_ratios_of_sums(folders):
    for seed, (answered, expected) in enumerate([(1, 10), (90, 100), (0, 10), (80, 80)]):
        calls = {"made": 10, "refused": seed, "mended": 0, "answered_items": answered, "expected_items": expected}
        write_result(folders[0], {**oracle_result(make_conversation(seed, turns=3)), "calls": calls})
    metrics = group(scored(folders), "oracle")["metrics"]
    assert pytest.approx(171 / 200) == metrics["answered_rate"]["mean"]
    assert pytest.approx(6 / 40) == metrics["refusal_rate"]["mean"]
    assert (0, 4) == (metrics["mended_rate"]["mean"], metrics["mended_rate"]["n"])


def test_pooled_counts_of_a_group_are_the_sums_of_its_conversations(folders):
    scores = scored(folders)
    whole = group(scores, "noisy")["pooled"]["binary_om"]
    parts = [e["pooled"]["binary_om"] for e in scores["conversations"] if e["em_model"] == "noisy"]
    for cell in ("tp", "tn", "fp", "fn"):
        assert sum(part[cell] for part in parts if part) == whole[cell]
        assert sum(category[cell] for category in whole["by_category"].values()) == whole[cell]


def test_participants_are_resampled_whole(folders):
    plain, clustered = (scored(folders, cluster=cluster) for cluster in (None, "participant"))
    assert "participant" == clustered["metadata"]["intervals"]["unit"]
    one, other = (group(scores, "noisy") for scores in (plain, clustered))
    assert (6, 3) == (other["n_conversations"], other["n_participants"])
    assert one["metrics"]["emotion_va"]["mean"] == other["metrics"]["emotion_va"]["mean"]
    assert one["metrics"]["emotion_va"]["ci_low"] != other["metrics"]["emotion_va"]["ci_low"]


def test_what_cannot_be_scored_is_named_and_the_rest_is_scored(folders):
    results, _ = folders
    stranger, twice = make_conversation(99), oracle_result(make_conversation(0, turns=3))
    write_result(results, oracle_result(stranger), "stranger.json")
    write_result(results, twice, "twice.json")
    (results / "broken.json").write_text("{")
    scores = scored(folders)
    left_out = scores["left_out"]
    assert [{"file": "stranger.json", "conversationId": stranger["conversationId"]}] == left_out["not_in_ground_truth"]
    assert "broken.json" == left_out["unreadable"][0]["file"]
    assert "twice.json" in left_out["duplicates"][0]["files"]
    oracle = group(scores, "oracle")
    assert (3, [twice["conversationId"]]) == (oracle["coverage"]["scored"], oracle["coverage"]["duplicated"])


def test_invalid_conversations_stop_the_scoring_unless_they_are_left_out(folders):
    _, truth = folders
    (truth / "conversation_7.json").write_text('{"turns": []}')
    with pytest.raises(DataError):
        scored(folders)
    assert 1 == len(scored(folders, skip_invalid=True)["left_out"]["invalid_conversations"])


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        (None, "", "There is no result in"),
        ("r.json", json.dumps(oracle_result(make_conversation(99))), "belongs to a conversation in"),
        ("r.json", '{"em_model": "m"}', "No result in .* can be read: r.json conversationId is missing"),
    ],
)
def test_nothing_to_score_is_one_sentence(tmp_path, name, content, sentence):
    write_conversations(tmp_path / "truth", 1)
    (tmp_path / "results").mkdir()
    if name:
        (tmp_path / "results" / name).write_text(content)
    with pytest.raises(DataError, match=sentence):
        score_folders(tmp_path / "results", tmp_path / "truth")


@pytest.mark.parametrize("options", [{"seed": -1}, {"cluster": "country"}])
def test_options_that_do_not_exist_are_refused(folders, options):
    with pytest.raises(UsageError):
        scored(folders, **options)


def test_settings_are_told_apart_within_a_group(folders):
    for seed in range(3):
        raw = make_conversation(seed, turns=3)
        write_result(folders[0], {**oracle_result(raw), "prompt_set_sha256": "new" if seed else "old"})
    settings = {entry["em_model"]: entry["variants"] for entry in scored(folders)["metadata"]["settings"]}
    found = [(variant.get("prompt_set_sha256"), variant["n_results"]) for variant in settings["oracle"]]
    assert {("old", 1), ("new", 2), (None, 1)} == set(found)


def test_the_same_input_gives_the_same_bytes_whatever_the_hour(folders, tmp_path):
    texts = []
    for hour in (1, 2):
        scores = score_folders(*folders, resamples=500, now=NOW.replace(hour=hour))
        scores["metadata"]["created"] = None
        write_scores(tmp_path / f"{hour}.json", scores)
        texts.append((tmp_path / f"{hour}.json").read_bytes())
    assert texts[0] == texts[1]


def test_a_written_file_reads_back_and_is_overwritten_by_the_next_one(folders, tmp_path):
    scores = scored(folders)
    path = tmp_path / "new" / "scores.json"
    write_scores(path, scores)
    write_scores(path, scores)
    assert scores == read_scores(path)
    assert [path] == list(path.parent.iterdir())


def test_a_file_that_is_no_scores_file_is_never_overwritten(folders, tmp_path):
    scores = scored(folders)
    for content in ("my notes", '{"schema_version": "1.0"}'):
        path = tmp_path / "notes.json"
        path.write_text(content)
        with pytest.raises(DataError, match="is not a scores file"):
            write_scores(path, scores)
        assert content == path.read_text()
    with pytest.raises(DataError, match="is a folder"):
        write_scores(tmp_path, scores)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "cannot be read"),
        ("{", "not valid JSON"),
        ("[]", "is not a scores file"),
        ('{"schema_version": "2.0", "metadata": {}, "conversations": [], "aggregates": []}', "schema version 2.0"),
    ],
)
def test_reading_anything_else_is_one_sentence(tmp_path, content, sentence):
    path = tmp_path / "scores.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(DataError, match=sentence):
        read_scores(path)


def test_a_later_minor_version_is_read(tmp_path):
    path = tmp_path / "scores.json"
    path.write_text('{"schema_version": "1.7", "metadata": {}, "conversations": [], "aggregates": [], "more": 1}')
    assert "1.7" == read_scores(path)["schema_version"]


def test_what_servers_made_of_the_settings_is_counted_by_group(folders):
    results, _ = folders
    for number, path in enumerate(sorted(results.glob("*oracle*.json"))):
        result = json.loads(path.read_text())
        result |= {"em_model_reported": "b, a" if number else "a", "providers_reported": ["X"]}
        path.write_text(json.dumps(result | {"structured_used": ["text"], "adapted": {"seed": "not accepted"}}))
    count = len(list(results.glob("*oracle*.json")))
    observed = next(
        entry["observed"] for entry in scored(folders)["metadata"]["settings"] if entry["em_model"] == "oracle"
    )
    assert {"a": count, "b": count - 1} == observed["models_reported"]
    assert ({"X": count}, {"text": count}) == (observed["providers_reported"], observed["structured_used"])
    assert {"seed": {"not accepted": count}} == observed["adapted"]
