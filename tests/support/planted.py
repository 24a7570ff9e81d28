"""Scores whose true effects are known: conversations with labels, and models that are right with a stated chance.

Everything goes through the JSON of both formats, their readers and the scorer, as real data does.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from factory import make_conversation
from result_factory import BINARY_KEYS, FLIP, oracle_result

from attunebench.constants import BRANCHES, PANAS_ITEMS, Q1_OPTIONS, Q2_OPTIONS, Q3_OPTIONS
from attunebench.conversations.reading import read_conversation
from attunebench.results.parsing import parse_result
from attunebench.scorer import score
from attunebench.scores import Scores

Chance = "float | Callable[[Place], float]"


@dataclass(frozen=True)
class Place:
    """Where an answer stands, for a chance that depends on it."""

    conversation: Mapping[str, Any]
    index: int
    """Of the conversation, from 0."""
    turn: int
    """From 1."""
    turns: int
    question: str = ""

    @property
    def third(self) -> int:
        return 3 * (self.turn - 1) // self.turns if self.turns >= 3 else 1

    @property
    def diagnoses(self) -> list[str]:
        return list(self.conversation["participant_profile"]["demographics"]["diagnoses"])


@dataclass(frozen=True)
class Skill:
    """The chance of a right answer by kind; each is a number or a function of the place.

    `tag`: each tag of the person is found with this chance; `false_tag`: a wrong one is added with this chance;
    `wide`: each answer about the talk.
    """

    om: Any = 0.85
    hp: Any = 0.75
    pairwise: Any = 0.6
    tag: Any = 0.6
    false_tag: Any = 0.3
    wide: Any = 0.5
    branch_error: float = 1.0
    """Mean absolute error in points of the four branch scores."""
    panas_error: float = 1.0
    unanswered: float = 0.0
    judge: float | None = None
    cost: float | None = None


@dataclass(frozen=True)
class Plan:
    """What is planted. `people`: how many participants share the conversations in turn; 0: one each. `shape` may change
    a conversation's JSON (profile, labels) before anybody answers; it must return it."""

    conversations: int = 60
    turns: int | None = None
    people: int = 0
    seed: int = 0
    shape: Callable[[dict[str, Any], int], dict[str, Any]] = field(default=lambda conversation, _index: conversation)


def planted_scores(
    models: Mapping[str, Skill | Mapping[str, Skill]],
    plan: Plan | None = None,
    *,
    provider: str = "test",
    resamples: int = 200,
    relabel: Callable[[dict[str, Any], int], dict[str, Any]] | None = None,
) -> Scores:
    """Scores of models with these skills. A model's value is one skill, or mode → skill. A name with a slash
    ("human/ann") names its provider. `relabel` changes the labels after the answers were made: a second label set."""
    plan = plan or Plan()
    conversations = planted_conversations(plan)
    results = []
    for name, given in models.items():
        origin, _, model = name.rpartition("/")
        modes = given if isinstance(given, Mapping) else {"default": given}
        for mode, skill in modes.items():
            for index, conversation in enumerate(conversations):
                raw = answered(conversation, index, skill, seed=plan.seed, name=f"{name}/{mode}")
                raw |= {"em_model": model, "provider": origin or provider, "mode": mode}
                results.append(parse_result(raw, source_file=f"{index}_{name}_{mode}.json"))
    labelled = [relabel(copy.deepcopy(c), i) for i, c in enumerate(conversations)] if relabel else conversations
    return score([_read(c, i) for i, c in enumerate(labelled)], results, resamples=resamples)


def planted_conversations(plan: Plan) -> list[dict[str, Any]]:
    """The JSON of the conversations of a plan."""
    made = []
    for index in range(plan.conversations):
        conversation = make_conversation(1000 * plan.seed + index, **({"turns": plan.turns} if plan.turns else {}))
        person = index % plan.people if plan.people else index
        conversation["participant_profile"]["participant_id"] = f"person-{person}"
        made.append(plan.shape(conversation, index))
    return made


def answered(conversation: dict[str, Any], index: int, skill: Skill, *, seed: int, name: str) -> dict[str, Any]:
    """The result file of a model with this skill, as JSON."""
    rng = random.Random(f"{seed}/{name}/{index}")
    result = oracle_result(conversation)
    result["judge_models"] = ["judge-1"] if skill.judge is not None else []
    turns = result["turns"]
    for turn in turns:
        place = Place(conversation, index, turn["turnNumber"], len(turns))
        _answer_turn(turn, place, skill, rng)
    _answer_post(result["post_conversation"], Place(conversation, index, len(turns), len(turns)), skill, rng)
    if skill.cost is not None:
        result |= {"api_cost": skill.cost * rng.uniform(0.8, 1.2), "duration_seconds": 10 * rng.uniform(0.5, 1.5)}
        result["usage"] = {"prompt_tokens": 1000, "completion_tokens": 200}
    return result


def _answer_turn(turn: dict[str, Any], place: Place, skill: Skill, rng: random.Random) -> None:
    chances = dict(zip(BINARY_KEYS, (skill.om, skill.hp, skill.om, skill.hp), strict=True))
    for key, chance in chances.items():
        for question, right in list(turn[key].items()):
            here = Place(place.conversation, place.index, place.turn, place.turns, question)
            if rng.random() < skill.unanswered:
                del turn[key][question]
            elif rng.random() >= _chance(chance, here):
                turn[key][question] = FLIP[right]
    for index, right in turn["em_pairwise_selections"].items():
        if right in FLIP and rng.random() >= _chance(skill.pairwise, place):
            turn["em_pairwise_selections"][index] = FLIP[right]
    tags = [tag for tag in turn["em_emotion_tags"] if rng.random() < _chance(skill.tag, place)]
    if rng.random() < _chance(skill.false_tag, place):
        felt = {tag["emotion"] for tag in turn["em_emotion_tags"]}
        tags.append({"emotion": rng.choice([item for item in PANAS_ITEMS if item not in felt]), "intensity": 4})
    turn["em_emotion_tags"] = tags
    if skill.judge is None:
        turn["em_draft_judge_scores_by_model"] = turn["em_draft_binary_assessment_by_model"] = {}
    else:
        mark = min(7.0, max(1.0, rng.gauss(1 + 6 * skill.judge, 0.5)))
        turn["em_draft_judge_scores_by_model"] = {"judge-1": {"overall_score": mark}}


def _answer_post(post: dict[str, Any], place: Place, skill: Skill, rng: random.Random) -> None:
    items = post["predicted_post_panas"]["items"]
    for item, felt in items.items():
        items[item] = _near(felt, skill.panas_error, rng)
    wide = post["predicted_conversation_wide"]
    for key, options in (("q2_emotionClarity", Q2_OPTIONS), ("q3_modelFit", Q3_OPTIONS)):
        if rng.random() >= _chance(skill.wide, place):
            wide[key] = rng.choice([option for option in options if option != wide[key]])
    if rng.random() >= _chance(skill.wide, place):
        wide["q1_lookingFor"] = [rng.choice(Q1_OPTIONS)]
        wide["q3_followUp_whatFeltOff"] = []
    for branch in BRANCHES:
        wide["fourBranchScores"][branch] = _near(wide["fourBranchScores"][branch], skill.branch_error, rng)


def _near(value: float, error: float, rng: random.Random) -> int:
    return int(min(7, max(1, round(value + rng.gauss(0, 1.25 * error)))))


def _chance(chance: Any, place: Place) -> float:
    return float(chance(place)) if callable(chance) else float(chance)


def _read(raw: dict[str, Any], index: int) -> Any:
    name = f"conversation_{index + 1}.json"
    conversation, notes = read_conversation(raw, name, source=name)
    assert conversation is not None, notes.errors
    return conversation
