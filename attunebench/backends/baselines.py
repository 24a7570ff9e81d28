"""Built-in models that need no network: floors, simple rules, and the ceiling. Only they read `Request.conversation`.
`Majority` defines the shape of an answer, of what is in `baselines.json`; the others override what they know better."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib import resources
from typing import Any

from attunebench import constants
from attunebench.backends.base import Backend, Reply, Request
from attunebench.constants import BRANCHES, PANAS_ITEMS, PANAS_NEGATIVE, PANAS_POSITIVE
from attunebench.conversations import traits
from attunebench.conversations.groups import NONE
from attunebench.conversations.schema import Letter, Panas
from attunebench.errors import ConfigurationError, UsageError
from attunebench.protocol.arena import Shown
from attunebench.protocol.calls import CHANGES, DIMENSIONS, DRAFTS, PREDICTED_PROFILE, PREFERENCES, RATINGS, YesNo

MIDDLE = 4  # of every 1–7 scale
MOST_TAGS = 3  # people label few emotions in a turn
LONG = 5  # letters of a word that a reply may have taken up from a message
REACH = 3  # words before a phrase of the lexicon can negate or shade it
_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")


@cache
def data() -> dict[str, Any]:
    """The contents of `baselines.json`."""
    return dict(json.loads(resources.files(__package__).joinpath("baselines.json").read_text(encoding="utf-8")))


class Majority:
    """`majority`: constant answers that are right most often in general. Looks at nothing but what is asked. `turn`:
    the one that the call is about, None for the whole conversation or without one."""

    reasoning = "This answer comes from a built-in baseline, which gives no reasons."

    def __init__(self, request: Request) -> None:
        self.request = request
        self.conversation = None if isinstance(request.conversation, Shown) else request.conversation
        turns = self.conversation.turns if self.conversation else ()
        self.turn = next((turn for turn in turns if turn.number == request.call.turn), None)

    def answer(self) -> dict[str, Any]:
        """The answer object of the call, in the keys of the answer format (spec 3.2)."""
        asked = self.request.call.asked
        reasons = ["reasoning"] if asked.verbose and asked.kind != "judge" else []
        if reasons and asked.kind == "review":
            reasons += ["emotion_reasoning", "binary_reasoning"] if asked.questions else ["emotion_reasoning"]
        return {**dict.fromkeys(reasons, self.reasoning), **self._items()}

    def _items(self) -> dict[str, Any]:
        asked = self.request.call.asked
        if asked.kind in DRAFTS:
            return {"drafted_response": self.draft()}
        if asked.kind == "review":
            return {"emotion_tags": self.tags(), **self._judgements()}
        if asked.kind == "binary_hp":
            return self._judgements()
        if asked.kind == "pairwise":
            return {"pairwise_selections": {index: self.winner(index) for index in asked.comparisons}}
        if asked.kind == "post":
            change = asked.panas in CHANGES
            name = "predicted_panas_delta" if change else "predicted_post_panas"
            return {name: {"items": self.mood(change=change)}, "conversation_wide": self.wide()}
        if asked.kind == "profile":
            return {PREDICTED_PROFILE: {trait.id: self.trait(trait) for trait in asked.traits}}
        ratings = {name: self.rating(name) for name in RATINGS} if asked.rated else {}
        # A judge looks at a draft, which none of the baselines reads: what would be liked is the best guess.
        binary = {question: self.judgement(question, wanted=True) for question in asked.questions}
        return {**ratings, "draft_binary_assessment": binary} if binary else ratings

    def _judgements(self) -> dict[str, Any]:
        names = {"binary_om_assessment": False, "binary_human_prediction": True}
        questions = self.request.call.asked.questions
        return {
            name: {each: self.judgement(each, wanted=names[name]) for each in questions} for name in names if questions
        }

    def draft(self) -> str:
        return str(data()["draft"])

    def tags(self) -> list[dict[str, Any]]:
        """The emotions of the turn, as {emotion, intensity 1–7}."""
        return []

    def judgement(self, question: str, *, wanted: bool) -> YesNo:
        """One binary question about the reply: whether it did it or, `wanted`, whether it would have been liked."""
        return "yes" if question in data()["wanted_yes" if wanted else "observed_yes"] else "no"

    def winner(self, index: str) -> Letter:
        """The preferred side of one comparison; the letters say nothing about the variants."""
        return "A"

    def mood(self, *, change: bool) -> dict[str, float]:
        """Display name → 1–7 after the conversation or, for a `change`, −6…6 from before to after; all twenty."""
        return dict.fromkeys(PANAS_ITEMS, 0 if change else MIDDLE)

    def wide(self) -> dict[str, Any]:
        """The answers about the whole conversation, by their keys in the answer format."""
        return dict(data()["wide"])

    def rating(self, name: str) -> int:
        """A judge's rating of a draft, 1–7."""
        return MIDDLE

    def trait(self, trait: traits.Trait) -> str | list[str] | int:
        """One trait of the participant's profile: an answer of it, a list of them for groups, a number."""
        answer: str | list[str] | int = data()["traits"][trait.id]
        return answer


class Random(Majority):
    """`random`: uniform over the answers of each item, the same for the same seed and call in any order of calls."""

    def _draw(self, item: str) -> random.Random:
        # A text seeds the same generator on every platform and in every process, which a hash of a tuple would not.
        return random.Random(f"{self.request.seed or 0}/{self.request.call.id}/{item}")

    def draft(self) -> str:
        rng = self._draw("draft")
        return " ".join(rng.choice(sentences) for sentences in data()["sentences"])

    def tags(self) -> list[dict[str, Any]]:
        rng = self._draw("tags")
        emotions = rng.sample(PANAS_ITEMS, rng.randint(0, MOST_TAGS))
        return [{"emotion": emotion, "intensity": rng.randint(1, 7)} for emotion in emotions]

    def judgement(self, question: str, *, wanted: bool) -> YesNo:
        answers: tuple[YesNo, YesNo] = ("yes", "no")
        return self._draw(f"{question}/{wanted}").choice(answers)

    def winner(self, index: str) -> Letter:
        letters: tuple[Letter, Letter] = ("A", "B")
        return self._draw(f"pairwise/{index}").choice(letters)

    def mood(self, *, change: bool) -> dict[str, float]:
        rng, (low, high) = self._draw("mood"), (-6, 6) if change else (1, 7)
        return {item: rng.randint(low, high) for item in PANAS_ITEMS}

    def wide(self) -> dict[str, Any]:
        rng = self._draw("wide")
        fit, follow_up = rng.choice(constants.Q3_OPTIONS), constants.FOLLOW_UP_OPTIONS
        return {
            "q1_lookingFor": rng.sample(constants.Q1_OPTIONS, rng.randint(1, len(constants.Q1_OPTIONS))),
            "q2_emotionClarity": rng.choice(constants.Q2_OPTIONS),
            "q3_modelFit": fit,
            "q3_followUp_whatFeltOff": rng.sample(follow_up, rng.randint(1, 3)) if fit in constants.Q3_NEGATIVE else [],
            "fourBranchScores": {branch: rng.randint(1, 7) for branch in BRANCHES},
        }

    def rating(self, name: str) -> int:
        return self._draw(name).randint(1, 7)

    def trait(self, trait: traits.Trait) -> str | list[str] | int:
        rng = self._draw(f"trait/{trait.id}")
        if trait.form == "groups":  # none, or any of the sets of groups: as likely as each other
            return [option for option in trait.options if option != NONE and rng.random() < 0.5] or [NONE]
        return rng.choice(trait.options) if trait.options else rng.randint(trait.low, trait.high)


class NoChange(Majority):
    """`no-change`: the mood afterwards is the mood before, as far as that is known."""

    def mood(self, *, change: bool) -> dict[str, float]:
        known = mood_levels(self.conversation.pre_panas) if self.conversation and not change else {}
        return {**super().mood(change=change), **known}


class Lexicon(Majority):
    """`lexicon`: the emotions that the participant's message of the turn names, by the words of `baselines.json`."""

    def tags(self) -> list[dict[str, Any]]:
        felt = emotions_in(self.turn.user_message if self.turn else "")
        strongest = sorted(felt, key=lambda emotion: (-felt[emotion], PANAS_ITEMS.index(emotion)))[:MOST_TAGS]
        return [{"emotion": emotion, "intensity": felt[emotion]} for emotion in strongest]


class Oracle(Majority):
    """`oracle`: the participant's own labels, and as a draft the reply that the participant edited; not a model but the
    ceiling, and the pipeline's self-test. Where the truth is unknown, which no scorer looks at, as `majority`."""

    reasoning = "This answer is copied from the participant's own labels."

    def draft(self) -> str:
        turn = self.turn
        return (turn and (turn.human_edited or turn.llm_improved or turn.llm_response)) or super().draft()

    def tags(self) -> list[dict[str, Any]]:
        tags = [(tag.emotion, tag.intensity) for tag in (self.turn and self.turn.tags) or ()]
        return [{"emotion": name, "intensity": MIDDLE if level is None else level} for name, level in tags]

    def judgement(self, question: str, *, wanted: bool) -> YesNo:
        for judgement in self.turn.judgements if self.turn else ():
            if judgement.question_id == question:
                truth = judgement.preferred if wanted else judgement.observed
                if truth == "yes" or truth == "no":
                    return truth
        return super().judgement(question, wanted=wanted)

    def winner(self, index: str) -> Letter:
        comparisons = self.turn.comparisons if self.turn else ()
        number = int(index) if index.isdecimal() else len(comparisons)
        truth = comparisons[number].winner if number < len(comparisons) else None
        return truth or super().winner(index)

    def mood(self, *, change: bool) -> dict[str, float]:
        guess, talk = super().mood(change=change), self.conversation
        before, after = (mood_levels(talk.pre_panas), mood_levels(talk.post_panas)) if talk else ({}, {})
        changes = {item: level - before[item] for item, level in after.items() if item in before}
        return {**guess, **(changes if change else after)}

    def wide(self) -> dict[str, Any]:
        guess = super().wide()
        if self.conversation is None:
            return guess
        truth = self.conversation.wide
        answers = zip(guess, (truth.q1, truth.q2, truth.q3, truth.follow_up), strict=False)
        known = {key: each if isinstance(each, str) else [*each] for key, each in answers if each is not None}
        return {**guess, **known, "fourBranchScores": {**guess["fourBranchScores"], **truth.four_branch}}

    def trait(self, trait: traits.Trait) -> str | list[str] | int:
        truth = traits.truth_of(trait, self.conversation.profile) if self.conversation else None
        if isinstance(truth, traits.Span):  # any year of the range is right; that nearest to what can be answered is
            return int(min(max(truth.low, trait.low), truth.high))
        if isinstance(truth, frozenset):
            return [option for option in trait.options if option in truth]
        if truth is None:
            return super().trait(trait)
        return truth if isinstance(truth, str) else round(truth)


def mood_levels(panas: Panas) -> dict[str, float]:
    """Display name → 1–7, known ones only; for an unknown item a tenth of its side's total stands in."""
    levels: dict[str, float | None] = {}
    for side, total in ((PANAS_POSITIVE, panas.positive), (PANAS_NEGATIVE, panas.negative)):
        mean = None if total is None else total / len(side)
        levels |= {item: panas.items.get(item.lower(), mean) for item in side}
    return {item: level for item, level in levels.items() if level is not None}


def emotions_in(text: str) -> dict[str, int]:
    """Display name → 1–7 of every emotion that the text names; the strongest mention of each counts."""
    shades, phrases = data(), _phrases()
    words = _WORD.findall(text.lower().replace("’", "'"))
    felt: dict[str, int] = {}
    for start, word in enumerate(words):
        before = set(words[max(0, start - REACH) : start])
        if not before.isdisjoint(shades["negating"]):
            continue
        shift = before.isdisjoint(shades["weaker"]) - before.isdisjoint(shades["stronger"])
        for phrase, length, emotion, intensity in phrases.get(word[0], ()):
            if phrase.fullmatch(" ".join(words[start : start + length])):
                felt[emotion] = max(min(7, max(1, intensity + shift)), felt.get(emotion, 0))
    return felt


@cache
def _phrases() -> dict[str, list[tuple[re.Pattern[str], int, str, int]]]:
    """(phrase, its words, emotion, intensity) by their first letter, so that a message is read once."""
    phrases: dict[str, list[tuple[re.Pattern[str], int, str, int]]] = {}
    for emotion, by_intensity in data()["emotions"].items():
        for intensity, entries in by_intensity.items():
            for entry in entries:
                pattern = re.compile(re.escape(entry).replace(r"\*", r"\S*"))
                phrases.setdefault(entry[0], []).append((pattern, len(entry.split()), emotion, int(intensity)))
    return phrases


BASELINES: Mapping[str, type[Majority]] = {
    "random": Random, "majority": Majority, "no-change": NoChange, "lexicon": Lexicon, "oracle": Oracle,
}  # fmt: skip


JUDGES = ("longest", "shortest", "edited", "random", "lexicon")
"""The built-in judges of pairs: simple rules that a judge has to beat."""


def preference_of(judge: str, shown: Shown, seed: int | None = None) -> int:
    """Which reply a built-in judge prefers: −2 … 2, positive for the first. Raises UsageError for a name that is none.

    `longest` and `shortest` count characters, `edited` prefers the reply that a person edited, `random` draws anew for
    each order of the replies, and `lexicon` prefers the reply that takes up more of what the seeker feels, then more
    of the seeker's words.
    """
    texts = (shown.first, shown.second)
    if judge == "random":
        return random.Random(f"{seed or 0}/{shown.history}/{texts}").choice((-2, -1, 1, 2))
    if judge in ("longest", "shortest"):
        first, second = ((len(text), 0) for text in (texts if judge == "longest" else texts[::-1]))
    elif judge == "edited":
        first, second = ((int(kind == "edited"), 0) for kind in (shown.first_kind, shown.second_kind))
    elif judge == "lexicon":
        felt, words = _taken_up("\n".join(text for role, text in shown.history if role == "seeker"))
        first, second = ((len(felt & each), len(words & others)) for each, others in map(_taken_up, texts))
    else:
        raise UsageError(f"There is no built-in judge {judge!r}; choose one of {', '.join(JUDGES)}.")
    return (first > second) - (first < second)


@lru_cache(maxsize=1024)
def _taken_up(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The emotions that a text names, and its longer words."""
    words = _WORD.findall(text.lower().replace("’", "'"))
    return frozenset(emotions_in(text)), frozenset(word for word in words if len(word) >= LONG)


def _verdict(judge: str, shown: Shown, seed: int | None) -> dict[str, Any]:
    """The answer of a built-in judge: each dimension as the whole, and a quote that is in the history."""
    preferred = preference_of(judge, shown, seed)
    side = "same" if not preferred else "1" if preferred > 0 else "2"
    return {
        "evidence": " ".join(shown.history[-1][1].split()[:10]) if shown.history else "",
        "rationale": f"The built-in judge {judge} follows a simple rule and understands nothing.",
        "dimensions": dict.fromkeys(DIMENSIONS, side),
        "decided_by": "attunement" if judge == "lexicon" else "task_following",
        "preference": next(words for words, value in PREFERENCES.items() if value == preferred),
    }


class BaselineBackend(Backend):
    """A baseline as a backend. It is free. Raises UsageError for a name that is none."""

    provider, base_url, payer = "baseline", "", None

    def __init__(self, model: str) -> None:
        if model not in (*BASELINES, *JUDGES):
            raise UsageError(
                f"There is no baseline {model!r}; choose one of {', '.join(dict.fromkeys((*BASELINES, *JUDGES)))}."
            )
        self.model = model

    async def complete(self, request: Request) -> Reply:
        """The baseline's answer as a model would send it. Raises ConfigurationError for what it never answers: some
        only compare replies, and some never do."""
        shown, kind = request.conversation, request.call.kind
        if kind == "verdict" and isinstance(shown, Shown) and self.model in JUDGES:
            answer = _verdict(self.model, shown, request.seed)
        elif kind != "verdict" and self.model in BASELINES:
            answer = BASELINES[self.model](request).answer()
        elif kind == "verdict":
            raise ConfigurationError(f"The baseline {self.model} compares no replies; {', '.join(JUDGES)} do.")
        else:
            raise ConfigurationError(f"The baseline {self.model} only compares replies, as a judge of an arena.")
        text = json.dumps(answer, ensure_ascii=False)
        return Reply(text, "stop", cost=0.0, model=self.model, provider=self.provider, structured="text")
