"""Conversations and results at random, as JSON, with the gaps about which the released rules have something to say.

Everything stays within what spec 02 lets a conversation file hold. A tag that stands twice keeps its intensity: of two
the released rules do not say which counts.
"""

from __future__ import annotations

import copy
import random
from typing import Any

from factory import make_conversation
from released_oracle import BRANCHES, FIT_OPTIONS
from released_turns import BINARY, VA

Json = dict[str, Any]
NAMES = [name.capitalize() for name in VA]
RATINGS = ("overall_score", "emotional_appropriateness", "helpfulness", "tone_match")
SAID = ("I hear you, and that sounds hard.", "That was reply my sister", "", "   ", None)
FELT_OFF = ("Too long", "too generic", "Felt scripted and too long", "It ignored what I said", "Other")


def conversation(seed: int) -> Json:
    """A valid conversation file's content with missing labels."""
    rng = random.Random(f"released conversation {seed}")
    raw = make_conversation(seed, rng.randint(1, 4))
    for turn in raw["turns"]:
        _spoil_labels(turn, rng)
    for block in (raw["prePanas"], raw["postPanas"]):
        _spoil_panas(block, block["responses"], rng)
    if rng.random() < 0.25:
        raw["postPanas"] = copy.deepcopy(raw["prePanas"])
    wide = raw["conversationWideQuestions"]
    changes: dict[str, tuple[Any, ...]] = {
        "q1_lookingFor": (None, []),
        "q2_emotionClarity": (None,),
        "q3_modelFit": (None,),
        "q3_followUp_whatFeltOff": (None, [], rng.sample(FELT_OFF, 2), ["Too long", "too long"]),
    }
    for key, options in changes.items():
        if rng.random() < 0.3:
            wide[key] = rng.choice(options)
    for branch in BRANCHES:
        if rng.random() < 0.1:
            wide["fourBranchScores"][branch] = None
    if rng.random() < 0.05:
        wide["fourBranchScores"] = {}
    return raw


def _spoil_labels(turn: Json, rng: random.Random) -> None:
    labels = turn["annotations"]
    turn["moodShiftTags"] = _tags([], rng)
    for judgement in labels["binaryJudgements"]:
        draw = rng.random()
        if draw < 0.15:
            judgement["observedBehavior"] = None
            if rng.random() < 0.5:
                judgement["llmValue"] = rng.choice(("yes", "no", "na"))
        elif draw < 0.3:
            judgement["preferredBehavior"] = rng.choice((None, "na"))
    draw = rng.random()
    if draw < 0.1:
        labels["binaryJudgements"] = []
    elif draw < 0.2:
        for judgement in labels["binaryJudgements"]:
            judgement["observedBehavior"] = judgement["preferredBehavior"] = "na"
    for comparison in labels["pairwiseComparisons"]:
        if rng.random() < 0.15:
            comparison["winner"] = rng.choice((None, "", "tie"))
    _fewer_comparisons(labels, rng)


def _fewer_comparisons(labels: Json, rng: random.Random) -> None:
    given, draw = labels["pairwiseComparisons"], rng.random()
    if draw < 0.1:
        labels["pairwiseComparisons"] = []
    elif draw < 0.2:
        labels["pairwiseComparisons"] = rng.sample(given, rng.randint(1, 4))
    elif draw < 0.3:
        kept = [each for each in given if "human" not in (each["responseA"], each["responseB"])]
        labels["pairwiseComparisons"] = kept
        labels["alternateResponses"]["humanEdited"] = None
    elif draw < 0.4:
        for comparison in given:
            comparison["winner"] = None


def _tags(kept: list[Json], rng: random.Random) -> list[Json]:
    """Some of these and some others, each name with one intensity."""
    names = rng.sample(NAMES, rng.choice((0, 0, 1, 2, 3)))
    tags = [tag for tag in kept if rng.random() < 0.6]
    taken = {tag["emotion"].lower() for tag in tags}
    tags += [
        {"emotion": name, "intensity": rng.choice((rng.randint(1, 7), rng.randint(1, 7), None))}
        for name in names
        if name.lower() not in taken
    ]
    if tags and rng.random() < 0.15:
        tags.append(dict(rng.choice(tags)))
    return tags


def _spoil_panas(block: Json, items: Json, rng: random.Random) -> None:
    for key in ("totalPositiveAffect", "totalNegativeAffect"):
        draw = rng.random()
        if draw < 0.2:
            block[key] = None
        elif draw < 0.4:
            block[key] = rng.choice((10, 70, 33, 41.5))
    draw = rng.random()
    if draw < 0.1:
        items.clear()
    elif draw < 0.3:
        for name in rng.sample(list(items), rng.randint(1, 12)):
            items[name] = None


def result(conversation: Json, model: str, mode: str) -> Json:
    """A result for a conversation: right, wrong and missing answers, and now and then a turn that is not there.

    No turn that the conversation lacks: `score` leaves such a result out under any rules.
    """
    rng = random.Random(f"released result {conversation['conversationId']} {model} {mode}")
    turns = [_answer(turn, rng) for turn in conversation["turns"]]
    if len(turns) > 1 and rng.random() < 0.2:
        turns.pop(rng.randrange(len(turns)))
    if rng.random() < 0.1:
        rng.shuffle(turns)
    for key in [key for key in turns[0] if key.startswith("em_") and rng.random() < 0.03]:
        for turn in turns:
            turn.pop(key, None)
    answers = {
        "schema_version": "1.0",
        "provider": "local",
        "conversationId": conversation["conversationId"],
        "em_model": model,
        "mode": mode,
        "judge_models": ["judge-a", "judge-b"],
        "turns": turns,
        "post_conversation": _post(conversation, rng),
    }
    if rng.random() < 0.03:
        del answers["post_conversation"]
    return answers


def _answer(turn: Json, rng: random.Random) -> Json:
    labels = turn["annotations"]
    answer: Json = {
        "turnNumber": turn["turnNumber"],
        "em_drafted_response": rng.choice((*SAID, turn["llmResponse"], labels["alternateResponses"]["llmImproved"])),
        "em_emotion_tags": _predicted_tags(turn, rng),
    }
    for block, keys in BINARY.values():
        right = {each["questionId"]: each.get(keys[0]) for each in labels["binaryJudgements"]}
        answer[block] = _yes_no(right, rng)
    selections: Json = {
        str(i): rng.choice((each["winner"], "A", "B", "A", "B", " b", "a"))
        for i, each in enumerate(labels["pairwiseComparisons"])
    }
    selections = {key: value for key, value in selections.items() if rng.random() < 0.9}
    answer["em_pairwise_selections"] = rng.choice((selections, selections, selections, {}, None))
    other = dict.fromkeys(RATINGS, 7)
    ratings = {key: rng.choice((rng.randint(1, 7), 4.5)) for key in RATINGS if rng.random() < 0.8}
    wished = {each["questionId"]: each["preferredBehavior"] for each in labels["binaryJudgements"]}
    draw = rng.random()
    if draw < 0.7:
        votes = _yes_no(wished, rng) or {}
        answer["em_draft_judge_scores"], answer["em_draft_judge_scores_by_model"] = (
            ratings,
            {"judge-a": ratings, "judge-b": other},
        )
        answer["em_draft_binary_assessment"], answer["em_draft_binary_assessment_by_model"] = (
            votes,
            {"judge-a": votes, "judge-b": wished},
        )
    return answer


def _predicted_tags(turn: Json, rng: random.Random) -> list[Json] | None:
    if rng.random() < 0.1:
        return None
    tags = _tags(copy.deepcopy(turn["moodShiftTags"]), rng)
    spellings = {name: rng.choice((name, name, name.upper(), f" {name.lower()} ")) for name in NAMES}
    for tag in tags:
        tag["emotion"] = spellings.get(tag["emotion"], tag["emotion"])
    if rng.random() < 0.15:
        tags.append({"emotion": "Joyful", "intensity": rng.choice((None, 5))})
    return tags


def _yes_no(right: Json, rng: random.Random) -> Json | None:
    if rng.random() < 0.1:
        return None
    answers: Json = {}
    for question, value in right.items():
        draw = rng.random()
        if draw < 0.5:
            answers[question] = value
        elif draw < 0.85:
            answers[question] = rng.choice(("yes", "no", "Yes", " NO "))
        elif draw < 0.93:
            answers[question] = rng.choice(("na", None))
    return answers


def _post(conversation: Json, rng: random.Random) -> Json | None:
    if rng.random() < 0.05:
        return None
    items: Json = {name: rng.randint(1, 7) for name in NAMES}
    panas: Json = {"totalPositiveAffect": rng.choice((9, 71, 33.5, 40, 55)), "totalNegativeAffect": 22, "items": items}
    _spoil_panas(panas, items, rng)
    panas["items"] = {name: value for name, value in items.items() if value is not None or rng.random() < 0.5}
    wide = copy.deepcopy(conversation["conversationWideQuestions"])
    changes: dict[str, tuple[Any, ...]] = {
        "q1_lookingFor": (["Other", "to just listen or let me vent"], ["Other", "OTHER"], [], None),
        "q2_emotionClarity": ("Implied or indirect", " implied or INDIRECT ", "No idea", None),
        "q3_modelFit": (*(option.upper() for option in FIT_OPTIONS), "No idea", None),
        "q3_followUp_whatFeltOff": (rng.sample(FELT_OFF, 3), ["Too long", "TOO LONG", "nothing"], [], None),
    }
    for key, options in changes.items():
        if rng.random() < 0.5:
            wide[key] = rng.choice(options)
        elif rng.random() < 0.1:
            del wide[key]
    for branch in BRANCHES:
        if rng.random() < 0.6:
            wide["fourBranchScores"][branch] = rng.choice((rng.randint(1, 7), 4.5, None))
    return {
        "panas_strategy": "absolute",
        "predicted_post_panas": rng.choice((panas, panas, panas, panas, {}, None)),
        "predicted_conversation_wide": rng.choice((wide, wide, wide, wide, {}, None)),
    }
