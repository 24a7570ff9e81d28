"""The task's arguments, without Inspect."""

from __future__ import annotations

from pathlib import Path

import pytest

from attunebench.errors import DataError, UsageError
from attunebench.harness.common import path_of
from attunebench.harness.inspect_ai.study import model_named, notes_of, study_of
from attunebench.runner.settings import ModelSettings


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ({"modes": "silent"}, "no mode silent"),
        ({"structured": "object"}, "schema or not at all"),
        ({"panas_strategy": "guess"}, "panas_strategy"),
        ({"judge_scale": "guess"}, "judge_scale"),
        ({"max_reasks": -1}, "max_reasks"),
        ({"modes": 1}, "no mode 1"),
        ({"conversation": "talks"}, "no argument conversation"),
        ({"modes": ["default", 2]}, "no mode 2"),
        ({"skip_invalid": "maybe"}, "skip_invalid"),
        ({"conversations": ["a", "b"]}, "one folder"),
        ({"codebook": True}, "one file"),
    ],
)
def test_a_choice_that_does_not_exist_is_refused_by_name(choice, said):
    with pytest.raises(UsageError, match=said):
        study_of(**{"modes": "default", **choice})


def test_modes_that_do_not_go_with_a_strategy_are_refused_before_anything_is_asked(talks):
    with pytest.raises(UsageError, match="blind_delta"):
        study_of(modes="omniscient", panas_strategy="blind_delta", conversations=str(talks))


def test_a_folder_whose_name_is_a_number_is_a_folder():
    assert Path("25") == path_of("conversations", 25)


def test_a_folder_that_is_not_there_is_named():
    with pytest.raises(DataError, match="nowhere"):
        study_of(conversations="nowhere")


def test_the_demonstration_says_that_it_is_one(talks):
    assert "no human data" in notes_of(study_of(), demo=True)[0]
    assert "no human data" not in "".join(notes_of(study_of(conversations=str(talks)), demo=False))


def test_conversations_stand_in_the_order_of_a_run(talks):
    from attunebench import load_conversations
    from attunebench.runner.order import stratified_order

    study = study_of(conversations=str(talks), order_seed=3)
    assert stratified_order(load_conversations(talks).conversations, 3) == list(study.conversations.values())


@pytest.mark.parametrize(("named", "scale"), [({}, "quality"), ({"judge_scale": "relative"}, "relative")])
def test_judges_rate_on_the_scale_that_is_named(talks, named, scale):
    study = study_of(conversations=str(talks), **named)
    em, judge = (ModelSettings(provider="openai", model=model) for model in ("m", "j"))
    conversation = next(iter(study.conversations.values()))
    job = study.under(em=em, judges=(judge,)).job(conversation, "default")
    assert {scale} == {call.asked.scale for call in job.waiting}


def test_a_judge_is_named_once(talks):
    study = study_of(conversations=str(talks))
    judge = ModelSettings(provider="openai", model="j")
    with pytest.raises(UsageError, match="twice"):
        study.under(judges=(judge, judge))


@pytest.mark.parametrize(
    ("full", "provider", "model"),
    [
        ("openai/gpt-4o", "openai", "gpt-4o"),
        ("openrouter/vendor/model-1", "openrouter", "vendor/model-1"),
        ("alone", "inspect", "alone"),
    ],
)
def test_a_model_has_the_provider_that_its_name_begins_with(full, provider, model):
    named = model_named(full)
    assert (provider, model) == (named.provider, named.model)
