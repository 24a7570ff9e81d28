"""Each baseline goes the whole way: plan → complete → read, with every item answered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from factory import make_conversation

import attunebench
from attunebench import ModelSettings, RunSettings
from attunebench.backends import open_backend
from attunebench.backends.base import Reply, Request
from attunebench.backends.baselines import BASELINES, data, emotions_in
from attunebench.codebook import default_codebook
from attunebench.constants import BINARY_QUESTION_TEXT, PANAS_ITEMS, Q1_OPTIONS, Q2_OPTIONS, Q3_OPTIONS
from attunebench.conversations import read_conversation
from attunebench.conversations.loading import demo_folder
from attunebench.conversations.schema import Conversation, Panas
from attunebench.errors import UsageError
from attunebench.protocol.calls import Answer, Call, Mode, PanasStrategy
from attunebench.protocol.plan import plan_conversation
from attunebench.protocol.read import read_reply

CODEBOOK = default_codebook()
CEILING = (
    *("emotion_f1_intensity", "binary_om_accuracy", "binary_hp_accuracy", "binary_om_accuracy_hp"),
    *("binary_hp_accuracy_hp", "pairwise_accuracy", "panas_item_normalized", "q1_goals_f1", "q2_clarity", "q3_fit"),
    *("q3_follow_up_f1", "four_branch", "response_similarity_human", "answered_rate"),
)
"""Metrics of which each kind of answer has at least one of its own."""


def conversation(seed: int = 7, **changes: Any) -> Conversation:
    read, _ = read_conversation({**make_conversation(seed, turns=3), **changes})
    assert read is not None
    return read


def replies(name: str, calls: Iterable[Call], talk: Conversation | None, seed: int | None = None) -> dict[str, Reply]:
    backend = open_backend(ModelSettings(provider="baseline", model=name))

    async def all_of_them() -> dict[str, Reply]:
        return {
            call.id: await backend.complete(
                Request(call, call.messages, 4096, temperature=0.0, seed=seed, timeout=10, conversation=talk)
            )
            for call in calls
        }

    return asyncio.run(all_of_them())


def answers(
    name: str, talk: Conversation, mode: Mode = "default", panas: PanasStrategy = "absolute"
) -> dict[str, Answer]:
    calls = plan_conversation(talk, mode, CODEBOOK, panas_strategy=panas)
    given = replies(name, calls, talk)
    return {
        call.id.removeprefix(f"{talk.conversation_id}/{mode}/"): read_reply(call.asked, given[call.id], CODEBOOK)
        for call in calls
    }


@pytest.mark.parametrize("panas", ["absolute", "blind", "delta", "blind_delta"])
@pytest.mark.parametrize("mode", ["default", "verbose"])
@pytest.mark.parametrize("name", BASELINES)
def test_every_item_of_every_call_is_answered(name: str, mode: Mode, panas: PanasStrategy) -> None:
    given = answers(name, conversation(), mode, panas)
    assert {} == {call: answer.missing for call, answer in given.items() if answer.missing}
    assert {"answered"} == {answer.outcome for answer in given.values()}


@pytest.mark.parametrize("name", BASELINES)
def test_verbose_modes_get_reasons_and_others_none(name: str) -> None:
    reasons = {"reasoning", "emotion_reasoning", "binary_reasoning"}
    assert reasons == set(answers(name, conversation(), "verbose")["1/review"].reasoning)
    assert set() == set(answers(name, conversation(), "default")["1/review"].reasoning)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_judges_and_answers_without_a_conversation_too_and_is_free(name: str, known: bool) -> None:
    calls = plan_conversation(conversation(), "default", CODEBOOK, judges=1)
    given = replies(name, calls, conversation() if known else None)
    assert {()} == {read_reply(call.asked, given[call.id], CODEBOOK).missing for call in calls}
    for reply in given.values():
        assert (0.0, None, name, "baseline") == (reply.cost, reply.usage.prompt_tokens, reply.model, reply.provider)


@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_answers_where_every_label_is_unknown(name: str) -> None:
    bare = conversation(prePanas=None, postPanas=None, conversationWideQuestions=None, participant_profile=None)
    unknown = {"tags": None, "comparisons": ()}
    turns = tuple(turn.model_copy(update=unknown) for turn in bare.turns)
    given = answers(name, bare.model_copy(update={"turns": turns}))
    assert {()} == {answer.missing for answer in given.values()}


def test_an_unknown_baseline_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(UsageError, match="random, majority, no-change, lexicon, oracle"):
        open_backend(ModelSettings(provider="baseline", model="gpt"))


def test_random_depends_on_seed_and_call_alone_and_not_on_the_order() -> None:
    talk = conversation()
    calls = plan_conversation(talk, "default", CODEBOOK)
    there, back = replies("random", calls, talk, seed=3), replies("random", calls[::-1], talk, seed=3)
    assert there == back
    assert there != replies("random", calls, talk, seed=4)
    assert replies("random", calls, talk) == replies("random", calls, talk, seed=0)


def test_random_uses_both_sides_of_every_choice() -> None:
    given = answers("random", conversation())
    values = {answer for reply in given.values() for answer in reply.values.get("binary_om_assessment", {}).values()}
    letters = {letter for reply in given.values() for letter in reply.values.get("pairwise_selections", {}).values()}
    assert {"yes", "no"} == values
    assert {"A", "B"} == letters


def test_majority_is_the_same_for_every_conversation() -> None:
    one, other = answers("majority", conversation(1)), answers("majority", conversation(2))
    assert one["0/post"] == other["0/post"]
    assert one["1/draft"] == other["2/draft"]


def test_the_constants_of_majority_name_real_questions_and_options() -> None:
    assert {*data()["observed_yes"], *data()["wanted_yes"]} <= set(BINARY_QUESTION_TEXT)
    wide = answers("majority", conversation())["0/post"].values["conversation_wide"]
    assert wide["q1_lookingFor"][0] in Q1_OPTIONS
    assert wide["q2_emotionClarity"] in Q2_OPTIONS
    assert wide["q3_modelFit"] in Q3_OPTIONS


def test_no_change_repeats_the_mood_before() -> None:
    talk = conversation()
    items = answers("no-change", talk)["0/post"].values["predicted_post_panas"]["items"]
    assert talk.pre_panas.items == {item.lower(): value for item, value in items.items()}
    deltas = answers("no-change", talk, panas="delta")["0/post"].values["predicted_panas_delta"]["items"]
    assert {0} == set(deltas.values())


def test_no_change_keeps_totals_where_items_are_unknown() -> None:
    talk = conversation().model_copy(update={"pre_panas": Panas(positive=43, negative=12)})
    items = answers("no-change", talk)["0/post"].values["predicted_post_panas"]["items"]
    assert pytest.approx(43) == sum(items[item] for item in PANAS_ITEMS[:10])
    assert pytest.approx(12) == sum(items[item] for item in PANAS_ITEMS[10:])


@pytest.mark.parametrize("strategy", ["absolute", "delta"])
def test_the_oracle_scores_the_ceiling(strategy: PanasStrategy, tmp_path: Path) -> None:
    em = ModelSettings(provider="baseline", model="oracle")
    settings = RunSettings(em=em, output=tmp_path, limit=2, panas_strategy=strategy)
    attunebench.run(demo_folder(), settings)
    metrics = attunebench.score(tmp_path, demo_folder(), resamples=50)["aggregates"][0]["metrics"]
    assert {1.0} == {metrics[name]["mean"] for name in CEILING}


def test_the_oracle_answers_like_majority_where_it_knows_nothing() -> None:
    calls = plan_conversation(conversation(), "default", CODEBOOK)
    oracle, majority = replies("oracle", calls, None), replies("majority", calls, None)
    assert [json.loads(r.text or "") for r in majority.values()] == [json.loads(r.text or "") for r in oracle.values()]


@pytest.mark.parametrize(
    ("text", "emotions"),
    [
        ("I was so anxious about it.", {"Nervous": 6}),
        ("I am a bit sad.", {"Upset": 3}),
        ("I’m not angry at all.", {}),
        ("We can't wait, I am thrilled!", {"Enthusiastic": 5, "Excited": 6}),
        ("The meeting is at nine on Tuesday.", {}),
        ("", {}),
        ("I CAN’T COPE", {"Distressed": 5}),
    ],
)
def test_the_lexicon_finds_the_emotions_that_words_name(text: str, emotions: dict[str, int]) -> None:
    assert emotions == emotions_in(text)


def test_the_lexicon_tags_the_strongest_three() -> None:
    talk = conversation()
    message = "I was terrified, devastated, furious, nervous and curious."
    turn = talk.turns[0].model_copy(update={"user_message": message})
    tags = answers("lexicon", talk.model_copy(update={"turns": (turn,)}))["1/review"].values["emotion_tags"]
    assert {"Distressed", "Hostile", "Scared"} == {tag["emotion"] for tag in tags}
