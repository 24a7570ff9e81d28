"""Results of other frameworks' logs → a results folder, whatever the framework."""

from __future__ import annotations

import json

import pytest
from factory import make_conversation
from result_factory import oracle_result

from attunebench.errors import DataError
from attunebench.harness.importing import Importing, Source
from attunebench.prompts import prompt_set_sha256


def result(seed=1, epoch=None, **others):
    made = oracle_result(make_conversation(seed, turns=2), model="m", provider="openai")
    return {**made, "epoch": epoch, "prompt_set_sha256": prompt_set_sha256(), **others}


def failure(seed=1, epoch=None, reason="the line", again=""):
    identity = (make_conversation(seed, turns=2)["conversationId"], "openai", "m", "default")
    return {(identity, epoch): {"reason": reason, "tries": 1, "again": again}}


def imported(folder, *sources):
    importing = Importing(folder)
    for source in sources:
        importing.take(source)
    return importing.close()


def files(folder):
    return sorted(path.name for path in folder.glob("*.json"))


def test_a_result_is_a_file_as_a_run_would_name_it(tmp_path):
    done = imported(tmp_path, Source("log", [result()]))
    name = f"{result()['conversationId']}_openai_m_default.json"
    assert [name] == files(tmp_path)
    assert result() == json.loads((tmp_path / name).read_text())
    assert (1, 0, {}) == (done.written, done.same, done.failed)


def test_other_answers_are_refused_and_nothing_of_that_log_is_written(tmp_path):
    imported(tmp_path, Source("log", [result(1)]))
    text = (tmp_path / files(tmp_path)[0]).read_text()
    other = result(1, post_conversation=None)
    with pytest.raises(DataError, match=r"other .*never replaced.*--output"):
        imported(tmp_path, Source("other", [result(2), other]))
    assert 1 == len(files(tmp_path))
    assert text == (tmp_path / files(tmp_path)[0]).read_text()


def test_the_same_answers_at_another_hour_are_the_same(tmp_path):
    imported(tmp_path, Source("log", [result(run_timestamp="2026-01-01T00:00:00+00:00", duration_seconds=1.0)]))
    again = Source("again", [result(run_timestamp="2026-01-02T00:00:00+00:00", duration_seconds=None)])
    assert 1 == imported(tmp_path, again).same


def test_two_answers_in_one_log_are_said_to_be_in_it(tmp_path):
    with pytest.raises(DataError, match="in log"):
        imported(tmp_path, Source("log", [result(1), result(1, post_conversation=None)]))
    assert [] == files(tmp_path)


def test_votes_that_were_added_since_make_no_other_answers(tmp_path):
    imported(tmp_path, Source("log", [result()]))
    path = tmp_path / files(tmp_path)[0]
    judged = json.loads(path.read_text())
    judged["judge_models"] = ["j"]
    judged["turns"][0]["em_draft_judge_scores_by_model"] = {"j": {"overall_score": 5}}
    path.write_text(json.dumps(judged))
    assert 1 == imported(tmp_path, Source("log", [result()])).same
    assert judged == json.loads(path.read_text())


def test_a_file_of_that_name_that_is_something_else_stays(tmp_path):
    name = f"{result()['conversationId']}_openai_m_default.json"
    (tmp_path / name).write_text("{}")
    imported(tmp_path, Source("log", [result()]))
    assert "{}" == (tmp_path / name).read_text()
    assert 2 == len(files(tmp_path))


def test_what_failed_is_listed_as_a_run_lists_it(tmp_path):
    done = imported(tmp_path, Source("log", [result(1)], failure(2, again="inspect eval-retry log")))
    entry = json.loads((tmp_path / "_skipped_m.json").read_text())["skipped"][0]
    assert ("openai", "m", "the line", "inspect eval-retry log") == tuple(
        entry[key] for key in ("provider", "model", "reason", "run_again")
    )
    assert 1 == len(done.failed)


def test_what_failed_once_and_has_its_result_now_is_no_failure(tmp_path):
    imported(tmp_path, Source("log", [], failure(1)))
    done = imported(tmp_path, Source("retry", [result(1)]), Source("log", [], failure(1)))
    assert {} == done.failed
    assert not (tmp_path / "_skipped_m.json").exists()


def test_one_epoch_that_failed_is_listed_beside_another_that_did_not(tmp_path):
    imported(tmp_path, Source("log", [result(1, epoch=1)], failure(1, epoch=2, reason="epoch 2: the line")))
    entry = json.loads((tmp_path / "_skipped_m.json").read_text())["skipped"][0]
    assert "epoch 2: the line" == entry["reason"]


def test_what_one_log_did_not_reach_may_be_in_another(tmp_path):
    killed = Source("killed", [], ended={"a": True, "b": False, "c": False})
    retried = Source("retried", [], ended={"a": True, "b": True, "c": False})
    assert 1 == imported(tmp_path, killed, retried).unreached == imported(tmp_path, retried, killed).unreached


def test_results_of_other_prompts_are_taken_and_named(tmp_path):
    done = imported(tmp_path, Source("old", [result(prompt_set_sha256="0" * 64), result(2)]))
    assert 2 == done.written
    assert "old: 1 of 2 results were made with other prompts" in done.notes[0]


@pytest.mark.parametrize(
    "broken",
    [
        {"em_model": "m"},
        {**result(), "turns": "none"},
        {**result(), "api_cost": float("nan")},
        {**result(), "extra": object()},
    ],
)
def test_what_is_no_result_is_refused_whole(tmp_path, broken):
    with pytest.raises(DataError, match="log holds a result that cannot be read"):
        imported(tmp_path, Source("log", [result(2), broken]))
    assert [] == files(tmp_path)


def test_an_id_that_is_a_path_stays_in_the_folder(tmp_path):
    imported(tmp_path / "in", Source("log", [result(conversationId="../../out")]))
    assert [] == [path for path in tmp_path.rglob("*.json") if path.parent != tmp_path / "in"]


def test_a_run_of_the_same_model_into_the_folder_is_waited_for(tmp_path):
    from attunebench.journal import claim

    with claim(tmp_path, "openai", "m", ["default"]), pytest.raises(DataError, match="at this moment"):
        imported(tmp_path, Source("log", [result()]))
