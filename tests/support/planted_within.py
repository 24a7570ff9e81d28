"""Studies with effects planted within models (turns, questions, people, feelings), shared by several test files."""

from __future__ import annotations

import pickle
import random
from functools import cache
from typing import Any

from planted import Place, Plan, Skill, planted_scores

from attunebench.scores import Scores
from attunebench.scores.loading import score_table
from attunebench.scores.table import ScoreTable

GAP = 0.25
"""`wide_eyed` is so much better at what a reply did than at what was wanted."""
FALL = 0.25
"""`tiring` loses so much on Binary OM from the early to the late third, half of it to the middle."""
DEFICIT = 0.3
"""`stumbling` is so much worse on Binary HP on the turn after a misread."""
BIAS = 2.0
"""People's labels of `guilty` after the talk stand so much below what all models foresee on average, of `people`."""
GOOD_TAGS, BAD_TAGS = 0.9, 0.3
"""The chance that a felt tag is found where no diagnosis was told, and where any was, of `people`."""
WORRY = "worries"
TOPIC_LOSS = 0.3
"""On this topic all models of `people` lose so much on pairwise, and `uneven` loses twice as much."""


def _misread(place: Place, turn: int) -> bool:
    return random.Random(f"{place.index}/{turn}").random() < 0.4


def _stumbling_tag(place: Place) -> float:
    return 0.0 if _misread(place, place.turn) else 1.0


def _stumbling_false(place: Place) -> float:
    return 1.0 if _misread(place, place.turn) else 0.0


def _stumbling_hp(place: Place) -> float:
    return 0.85 - DEFICIT * (place.turn > 1 and _misread(place, place.turn - 1))


def _blind(place: Place) -> float:
    """Says no to B17 whatever happened."""
    if place.question != "B17":
        return 0.8
    labels = place.conversation["turns"][place.turn - 1]["annotations"]["binaryJudgements"]
    observed = next(one["observedBehavior"] for one in labels if one["questionId"] == "B17")
    return float(observed == "no")


@cache
def turns_scores() -> Scores:
    """Four models, each with one effect over turns or questions: wide_eyed, tiring, stumbling, blind."""
    models = {
        "wide_eyed": Skill(om=0.9, hp=0.9 - GAP),
        "tiring": Skill(om=lambda place: 0.95 - FALL / 2 * place.third, hp=0.8),
        "stumbling": Skill(om=0.8, hp=_stumbling_hp, tag=_stumbling_tag, false_tag=_stumbling_false),
        "blind": Skill(om=_blind, hp=0.8),
    }
    return planted_scores(models, Plan(conversations=32, turns=6, people=26, seed=11))


def _person(conversation: dict[str, Any], index: int) -> dict[str, Any]:
    """Every other person told of a diagnosis, and felt more; every third talk is about the worry; guilt can go down."""
    told = index % 2 == 1
    conversation["participant_profile"]["demographics"]["diagnoses"] = ["Anxiety" if told else "None of the above"]
    conversation["metadata"]["category"] = WORRY if index % 3 == 0 else "work"
    conversation["postPanas"]["responses"]["guilty"] = 4
    for turn in conversation["turns"]:
        felt = "Scared" if turn["turnNumber"] % 2 else "Proud"
        neutral = turn["turnNumber"] % 4 == 0 if told else turn["turnNumber"] % 4 < 2
        turn["moodShiftTags"] = [] if neutral else [{"emotion": felt, "intensity": 5}]
    return conversation


def _people_labels(conversation: dict[str, Any], _index: int) -> dict[str, Any]:
    """Labels that differ from those the answers were made of: less guilt, and “Afraid” for “Scared”."""
    conversation["postPanas"]["responses"]["guilty"] -= int(BIAS)
    for turn in conversation["turns"]:
        for tag in turn["moodShiftTags"]:
            tag["emotion"] = "Afraid" if tag["emotion"] == "Scared" else tag["emotion"]
    return conversation


def _told_tag(place: Place) -> float:
    return GOOD_TAGS if place.diagnoses == ["None of the above"] else BAD_TAGS


def _on_topic(loss: float) -> Any:
    return lambda place: 0.9 - loss * (place.conversation["metadata"]["category"] == WORRY)


@cache
def people_scores(relabelled: bool = False) -> Scores:
    """Three models that read people with a diagnosis less well and lose on a topic, `uneven` most.

    `relabelled`: with labels that say Afraid where people were scared, and less guilt afterwards.
    """
    steady = Skill(tag=_told_tag, false_tag=0.1, pairwise=_on_topic(TOPIC_LOSS), panas_error=0.5)
    uneven = Skill(tag=_told_tag, false_tag=0.1, pairwise=_on_topic(2 * TOPIC_LOSS), panas_error=0.5)
    return planted_scores(
        {"calm": steady, "even": steady, "uneven": uneven},
        Plan(conversations=66, turns=4, seed=13, shape=_person),
        relabel=_people_labels if relabelled else None,
    )


@cache
def turns_study() -> ScoreTable:
    return score_table(turns_scores())


@cache
def people_study(*, relabelled: bool = False) -> ScoreTable:
    return score_table(people_scores(relabelled))


def entries_of(scores: Scores, model: str) -> list[Any]:
    """The entries of a model, and beside each the labels of its conversation."""
    truth = {entry["conversationId"]: entry for entry in scores["ground_truth"]}
    return [(entry, truth[entry["conversationId"]]) for entry in scores["conversations"] if entry["em_model"] == model]


def changed(scores: Scores, change: Any) -> ScoreTable:
    """The study of a copy of the scores that `change` has altered."""
    copied: Scores = pickle.loads(pickle.dumps(scores))  # several times as quick as a deep copy
    change(copied)
    return score_table(copied)
