"""The arguments of a task, in whichever framework → the study that is asked about."""

from __future__ import annotations

from pathlib import Path

import pytest
from factory import write_conversations

from attunebench import load_conversations
from attunebench.conversations.loading import demo_folder
from attunebench.errors import DataError, UsageError
from attunebench.harness import common
from attunebench.harness.common import model_named
from attunebench.runner.order import stratified_order
from attunebench.runner.settings import ModelSettings

EM, JUDGE = (ModelSettings(provider="openai", model=model) for model in ("m", "j"))


@pytest.fixture(scope="module")
def talks(tmp_path_factory) -> Path:
    return write_conversations(tmp_path_factory.mktemp("talks"), 4, turns=1)


def study_of(**arguments):
    return common.study_of(EM, **arguments)


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ({"modes": "silent"}, "silent"),
        ({"structured": "object"}, "structured"),
        ({"structured": "guess"}, "structured"),
        ({"panas_strategy": "guess"}, "panas_strategy"),
        ({"judge_scale": "guess"}, "judge_scale"),
        ({"max_reasks": -1}, "max_reasks"),
        ({"modes": 1}, "1"),
        ({"conversation": "talks"}, "conversation"),
        ({"modes": ["default", 2]}, "2"),
        ({"skip_invalid": "maybe"}, "skip_invalid"),
        ({"conversations": ["a", "b"]}, "conversations"),
        ({"codebook": True}, "codebook"),
    ],
)
def test_a_choice_that_does_not_exist_is_refused_by_name(choice, said):
    with pytest.raises(UsageError, match=said):
        study_of(**{"modes": "default", **choice})


def test_modes_that_do_not_go_with_a_strategy_are_refused_before_anything_is_asked(talks):
    with pytest.raises(UsageError, match="blind_delta"):
        study_of(modes="omniscient", panas_strategy="blind_delta", conversations=str(talks))


def test_a_folder_whose_name_is_a_number_is_a_folder(talks, tmp_path, monkeypatch):
    (tmp_path / "25").symlink_to(talks, target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    assert Path("25") == study_of(conversations=25).folder


def test_a_folder_that_is_not_there_is_named():
    with pytest.raises(DataError, match="nowhere"):
        study_of(conversations="nowhere")


def test_without_a_folder_it_is_the_demonstration(talks):
    assert (demo_folder(), True) == (study_of().folder, study_of().examples)
    assert not study_of(conversations=talks).examples


def test_conversations_stand_in_the_order_of_a_run(talks):
    study = study_of(conversations=str(talks), order_seed=3)
    assert stratified_order(load_conversations(talks).conversations, 3) == list(study.conversations.values())


@pytest.mark.parametrize(("named", "scale"), [({}, "quality"), ({"judge_scale": "relative"}, "relative")])
def test_judges_rate_on_the_scale_that_is_named(talks, named, scale):
    study = study_of(conversations=str(talks), **named)
    conversation = next(iter(study.conversations.values()))
    job = study.under(judges=(JUDGE,)).job(conversation, "default")
    assert {scale} == {call.asked.scale for call in job.waiting}


def test_a_judge_is_named_once(talks):
    with pytest.raises(UsageError, match="twice"):
        study_of(conversations=str(talks)).under(judges=(JUDGE, JUDGE))


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
