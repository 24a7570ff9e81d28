"""What the tasks are made of: prompts, options, results, figures."""

from __future__ import annotations

import json
import math
import pickle
import shutil
from pathlib import Path

import pytest

pytest.importorskip("lm_eval", reason="lm-evaluation-harness is not installed (extra `harness`)")

from scripted_replies import baseline_replies, key_of

from attunebench.conversations.loading import demo_folder
from attunebench.errors import DataError, UsageError
from attunebench.harness.lm_eval.task import GENERATION, METRICS, AttuneBenchTask, Figure, generation_of, rendered
from attunebench.metrics.draft import JUDGED
from attunebench.metrics.registry import REGISTRY, cards_of
from attunebench.protocol.calls import Message

# The framework's dependencies warn of each other's plans.
pytestmark = pytest.mark.filterwarnings("default")
MESSAGES = (Message("system", "You are told this.\nAnd that."), Message("user", "What now?\n"))


def task_of(mode="default", metadata=None):
    return AttuneBenchTask({"mode": mode, "metadata": metadata})


def through(*roles):
    """A template that shows messages of these roles alone."""
    return lambda chat: "".join(f"<{m['role']}>{m['content'].strip()}" for m in chat if m["role"] in roles)


def test_a_plain_prompt_ends_where_the_answer_begins():
    assert "You are told this.\nAnd that.\n\nWhat now?\n\nAnswer:\n" == rendered([MESSAGES])[0]
    assert (
        "Be brief.\n\nYou are told this.\nAnd that.\n\nWhat now?\n\nAnswer:\n"
        == rendered([MESSAGES], None, "Be brief.\n")[0]
    )


def test_a_template_gets_the_messages_as_they_are():
    told = "<system>You are told this.\nAnd that.<user>What now?"
    assert [told] * 2 == rendered([MESSAGES] * 2, through("system", "user"))


def test_a_system_message_that_a_template_drops_goes_to_the_user():
    told = "<user>Be brief.\n\nYou are told this.\nAnd that.\n\nWhat now?"
    assert [told] * 2 == rendered([MESSAGES] * 2, through("user"), "Be brief.")


def test_a_template_that_drops_the_prompt_is_refused():
    with pytest.raises(DataError, match="leaves out"):
        rendered([MESSAGES], through("assistant"))


@pytest.mark.parametrize(
    ("shown", "figure"),
    [
        ("0.2500", Figure(0.25, 12, 12)),
        ("0.2500 (n 3)", Figure(0.25, 3, 12)),
        ("– (n 0)", Figure(None, 0, 12)),
        ("–", Figure(None, 12, 12)),
    ],
)
def test_a_figure_names_its_n_where_that_is_another(shown, figure):
    assert shown == f"{figure:.4f}"


def test_a_figure_is_a_number_to_programs_and_survives_the_way_between_processes():
    figure = Figure(0.25, 3, 12)
    assert "0.25" == json.dumps(figure)
    assert f"{figure:.4f}" == f"{pickle.loads(pickle.dumps(figure)):.4f}"
    assert math.isnan(Figure(None, 0, 12))


def test_a_limit_of_the_users_replaces_ours():
    assert {"max_tokens": 99, "until": []} == generation_of({"max_gen_toks": 4096, "max_tokens": 99, "until": []})
    assert GENERATION == generation_of(GENERATION)


def test_options_are_read_beside_a_models_arguments(tmp_path, monkeypatch):
    shutil.copytree(demo_folder(), tmp_path / "25")
    monkeypatch.chdir(tmp_path)
    metadata = {"pretrained": "some/model", "dtype": "auto", "conversations": 25, "cluster": "participant"}
    found = task_of(metadata=metadata)
    assert ("some/model", Path("25"), "participant") == (
        found.study.settings.em.model,
        found.study.folder,
        found._cluster,
    )


@pytest.mark.parametrize("wrong", [{"conversations": True}, {"codebook": " "}, {"repeats": "3"}, {"repeats": True}])
def test_an_option_that_says_nothing_is_refused(wrong):
    with pytest.raises(UsageError, match=next(iter(wrong))):
        task_of(metadata=wrong)


@pytest.mark.parametrize(("wrong", "meant"), [("clusters", "cluster"), ("conversation", "conversations")])
def test_a_misspelt_name_of_an_option_is_no_other_ones(wrong, meant):
    with pytest.raises(UsageError, match=f"you may mean {meant}"):
        task_of(metadata={wrong: "participant"})


def test_all_but_judged_and_optional_metrics_are_shown():
    left = {card.id for card in cards_of("attunebench").values()} - {card.id for card in METRICS}
    assert set(JUDGED) == {i for i in left if not REGISTRY[i].optional}


@pytest.fixture(scope="module")
def evaluation():
    return task_of()


def replies_to(evaluation, doc, replies):
    return [[replies[key_of(call)]] for call in evaluation.calls(doc)]


def test_results_are_those_of_a_run_without_reasks(evaluation):
    doc, replies = evaluation.test_docs()[0], baseline_replies("oracle")
    (result,) = evaluation.results(doc, replies_to(evaluation, doc, replies), GENERATION)
    assert ("lm-eval", "default", doc["conversation_id"]) == (
        result["provider"],
        result["mode"],
        result["conversationId"],
    )
    assert {"temperature": 0.0, "max_tokens": 4096, "max_reasks": 0, "structured": "text"}.items() <= result[
        "parameters"
    ].items()
    assert result["calls"]["answered_items"] == result["calls"]["expected_items"]


def test_no_reply_is_not_answered_and_no_error(evaluation):
    doc = evaluation.test_docs()[0]
    (result,) = evaluation.results(doc, [[None]] * len(doc["calls"]), GENERATION)
    assert 0 == result["calls"]["answered_items"]
    assert 0 == result["scores"]["binary_om_accuracy"]


def test_missing_replies_are_no_answers(evaluation):
    doc = evaluation.test_docs()[0]
    with pytest.raises(ValueError, match="zip"):
        evaluation.results(doc, [["{}"]], GENERATION)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"max_gen_toks": 0}, "max_tokens"),
        ({"max_gen_toks": "many"}, "max_tokens"),
        ({"max_gen_toks": None}, "max_tokens"),
        ({"temperature": "hot"}, "temperature"),
        ({"temperature": -1.0}, "temperature"),
    ],
)
def test_arguments_of_requests_that_no_result_can_have_are_refused(evaluation, wrong, named):
    with pytest.raises(UsageError, match=named):
        evaluation.under({**GENERATION, **wrong})


def test_a_result_tells_how_its_replies_were_sampled(evaluation):
    doc, further = evaluation.test_docs()[0], {"do_sample": True, "top_p": 0.9, "until": ["stop"]}
    (result,) = evaluation.results(
        doc, [["{}"]] * len(doc["calls"]), {**GENERATION, **further, "temperature": None, "seed": None}
    )
    assert {**further, "temperature": None, "max_tokens": 4096, "seed": None}.items() <= result["parameters"].items()
    assert "max_gen_toks" not in result["parameters"]


def test_a_strategy_that_the_mode_gives_away_is_refused():
    with pytest.raises(UsageError, match="blind_delta"):
        task_of("omniscient", {"panas_strategy": "blind_delta"})
