"""One reader per kind of call: the objects of a reply → the values of its answer format."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from attunebench.codebook import Codebook
from attunebench.protocol.calls import CHANGES, DIMENSIONS, PREDICTED_PROFILE, RATINGS, Asked
from attunebench.protocol.read import values
from attunebench.protocol.read.decode import Obj, is_cut
from attunebench.protocol.read.find import Given
from attunebench.protocol.read.shapes import (
    ASIDES,
    WRAPPERS,
    Givens,
    Namer,
    bare,
    container,
    fields,
    inside_or_flat,
    named_by_index,
    named_by_key,
    named_by_question,
    named_by_word,
    pairs_of,
)
from attunebench.protocol.read.thoughts import spoken
from attunebench.protocol.read.traits import trait_answer
from attunebench.protocol.schemas import BINARY_MAPS, FOLLOW_UP, FOUR_BRANCH, JUDGE_MAP, Q1, Q2, Q3, WIDE, mood_key

T = TypeVar("T")
_REASON = re.compile(r"[,;:.(—–]|\s-\s|\sbecause\s")

NOTHING = frozenset({"none", "n/a", "na", "nothing", "not applicable"})
"""A follow-up of such words alone says that nothing felt off."""
LONGEST_DRAFT = 100_000
"""Characters: no reply to a person is as long, and what is written must be small enough to be read again."""
_DRAFT_KEYS = frozenset({"draft", "draftresponse", "reply", "message"}) | WRAPPERS


@dataclass(slots=True)
class Reading:
    """What a reader works on. `givens`: the reply's objects; `prose`: its text, if it may be a draft by itself.

    Settles items one by one and counts how many were `given` at all, and how many `contradicted` each other.
    """

    asked: Asked
    codebook: Codebook
    givens: Givens
    prose: str | None = None
    given: int = 0
    contradicted: int = 0

    def settle(self, givens: Iterable[Given], read: Callable[[Given], T | None]) -> T | None:
        """What those in fences say, else what the others say; None if it is unreadable or they say two things."""
        said = [given for given in givens if not _is_blank(given.value)]
        said = [given for given in said if given.fenced] or said
        if not said:
            return None
        self.given += 1
        readings = [read(given) for given in said]
        if all(_agree(reading, readings[0]) for reading in readings):
            return readings[0]
        self.contradicted += 1
        return None

    def settle_map(
        self, givens: Givens, namer: Namer, read: Callable[[str, Any], T | None], by_place: bool = False
    ) -> dict[str, T]:
        """Every item that was answered, with `read(item, raw value)`.

        A bare list may count `by_place` if it is as long as the names.
        """
        votes: dict[str, list[Given]] = {}
        for given in givens:
            for key, value in pairs_of(container(given.value), namer.names if by_place else ()):
                if (item := namer.find(key)) is not None:
                    votes.setdefault(item, []).append(given.within(value))
        answers: dict[str, T] = {}
        for item in filter(votes.__contains__, namer.names):
            answer = self.settle(votes[item], lambda one, item=item: bare(one.value, lambda raw: read(item, raw)))  # type: ignore[misc]
            if answer is not None:
                answers[item] = answer
        return answers

    def yes_no(self, givens: Givens) -> dict[str, Any]:
        """A map of the questions."""
        namer = named_by_question(self.asked.questions)
        return self.settle_map(givens, namer, lambda _, raw: values.yes_no(raw))

    def numbers(self, givens: Givens, names: Iterable[str], low: int = 1, high: int = 7) -> dict[str, Any]:
        """A map of ratings."""
        return self.settle_map(givens, named_by_word(names), lambda _, raw: values.number(raw, low, high))

    def one(self, givens: Givens, read: Callable[[Any], Any]) -> Any:
        """A single value, which may stand beside a reason."""
        return self.settle(givens, lambda given: bare(given.value, read))


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _agree(one: Any, other: Any) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return sorted(map(repr, one)) == sorted(map(repr, other))
    return bool(one == other)


def draft(reading: Reading) -> dict[str, Any]:
    """`drafted_response`: the text under its key, under the only key, or the whole reply where it is no JSON."""
    found = fields(reading.givens, "drafted_response")
    if not found:
        found = tuple(_only_text(reading.givens))
    text = reading.settle(found, _draft_text)
    if text is None and not found and reading.prose is not None and len(reading.prose) <= LONGEST_DRAFT:
        text = values.prose(reading.prose)
    return {"drafted_response": text}


def _draft_text(given: Given) -> str | None:
    def read(value: Any) -> str | None:
        if not isinstance(value, str) or not given.trusts(value):
            return None
        said = spoken(value)
        return values.prose(said) if said is not None and len(said) <= LONGEST_DRAFT else None

    return bare(given.value, read)


def _only_text(givens: Givens) -> Iterable[Given]:
    for given in givens:
        if isinstance(given.value, Obj):
            pairs = [(values.key_name(key), item) for key, item in given.value if values.key_name(key) not in ASIDES]
            if len(pairs) == 1 and pairs[0][0] in _DRAFT_KEYS and isinstance(pairs[0][1], str):
                yield given.within(pairs[0][1])


def binary(reading: Reading) -> dict[str, Any]:
    """The two maps of `binary_hp`: question → yes or no."""
    return {key: reading.yes_no(fields(reading.givens, key)) for key in BINARY_MAPS}


def review(reading: Reading) -> dict[str, Any]:
    """`emotion_tags` and the two maps of `binary`."""
    found = fields(reading.givens, "emotion_tags")
    display = reading.codebook.display_names
    read = reading.settle(found, lambda given: values.tags(container(given.value), display))
    return {"emotion_tags": read, **binary(reading)}


def judge(reading: Reading) -> dict[str, Any]:
    """The ratings 1–7, where they are asked for, and the map about the draft."""
    rated = RATINGS if reading.asked.rated else ()
    answer = {key: reading.one(fields(reading.givens, key), lambda raw: values.number(raw, 1, 7)) for key in rated}
    return {**answer, JUDGE_MAP: reading.yes_no(inside_or_flat(reading.givens, JUDGE_MAP))}


def pairwise(reading: Reading) -> dict[str, Any]:
    """`pairwise_selections`: index → A or B; a bare list counts where it has as many entries as were asked."""
    sides = reading.asked.comparisons
    givens = inside_or_flat(reading.givens, "pairwise_selections")
    selections = reading.settle_map(
        givens, named_by_index(sides), lambda index, raw: values.letter(raw, sides[index]), by_place=True
    )
    return {"pairwise_selections": selections}


def post(reading: Reading) -> dict[str, Any]:
    """The mood afterwards, item by item, and the answers about the whole conversation."""
    is_change = reading.asked.panas in CHANGES
    key, other = mood_key("delta" if is_change else "absolute"), mood_key("absolute" if is_change else "delta")
    # An object that answers the other question in place of the one asked says nothing; beside it, it is extra.
    own = tuple(given for given in reading.givens if fields((given,), key) or not fields((given,), other))
    mood = inside_or_flat(own, key)
    predicted = reading.numbers(
        inside_or_flat(_containers(mood), "items"), reading.codebook.panas, *((-6, 6) if is_change else (1, 7))
    )
    return {key: {"items": predicted}, WIDE: _wide(reading)}


def _containers(givens: Givens) -> Givens:
    return tuple(given.within(container(given.value)) for given in givens)


def _wide(reading: Reading) -> dict[str, Any]:
    book = reading.codebook
    givens = _containers(inside_or_flat(reading.givens, WIDE))
    q3 = reading.one(fields(givens, Q3, "q3"), lambda raw: _option(raw, book.q3_options))
    return {
        Q1: reading.one(fields(givens, Q1, "q1"), lambda raw: _options(raw, book.q1_options)),
        Q2: reading.one(fields(givens, Q2, "q2"), lambda raw: _option(raw, book.q2_options)),
        Q3: q3,
        FOLLOW_UP: _follow_up(reading, fields(givens, FOLLOW_UP, "q3_follow_up"), q3),
        FOUR_BRANCH: reading.numbers(inside_or_flat(givens, FOUR_BRANCH), book.branches),
    }


def _option(raw: Any, options: Iterable[str]) -> str | None:
    if isinstance(raw, list) and len(raw) == 1:
        raw = raw[0]
    if not isinstance(raw, str):
        return None
    said = values.squeezed(raw)
    return next((option for option in options if values.squeezed(option) == said), None)


def _entries(raw: Any) -> list[Any] | None:
    """A list as it is, a string as a list of one; None for anything else and for a list that was cut."""
    raw = container(raw)
    if isinstance(raw, str):
        return [raw]
    return raw if isinstance(raw, list) and not is_cut(raw) else None


def _options(raw: Any, options: Iterable[str]) -> list[str] | None:
    entries = _entries(raw)
    if not entries:
        return entries
    known = tuple(options)
    chosen = [option for entry in entries if (option := _option(entry, known)) is not None]
    return list(dict.fromkeys(chosen)) or None


def _follow_up(reading: Reading, found: Givens, q3: str | None) -> list[str] | None:
    """Free text entries. Left out beside a positive Q3, or a word such as "None", means that nothing felt off."""
    before = reading.given
    known = frozenset(map(values.squeezed, reading.codebook.follow_up_options))

    def read(given: Given) -> list[str] | None:
        return bare(
            given.value, lambda raw: _texts(raw, lambda text: given.trusts(text) or values.squeezed(text) in known)
        )

    entries = reading.settle(found, read)
    left_out = reading.given == before
    if left_out and q3 is not None and q3 not in reading.codebook.q3_negative:
        return []
    return entries


def _texts(raw: Any, trusted: Callable[[str], bool]) -> list[str] | None:
    entries = _entries(raw)
    if not entries:
        return entries
    texts = [entry for entry in entries if isinstance(entry, str) and entry.strip()]
    if texts and all(values.plain(text) in NOTHING for text in texts):
        return []
    if not all(map(trusted, texts)) or sum(map(len, texts)) > values.LONGEST_REMARK:
        return None
    return [text for entry in texts if (text := values.prose(entry)) is not None] or None


def profile(reading: Reading) -> dict[str, Any]:
    """`predicted_profile`: trait → one of its answers, a list of them for groups, a number for scales and age."""
    traits = {trait.id: trait for trait in reading.asked.traits}
    givens = inside_or_flat(reading.givens, PREDICTED_PROFILE)
    predicted = reading.settle_map(givens, named_by_key(traits), lambda name, raw: trait_answer(traits[name], raw))
    return {PREDICTED_PROFILE: predicted}


def verdict(reading: Reading) -> dict[str, Any]:
    """Which of two replies is better: altogether, and in each dimension "1", "2" or "same"; with the quote and the
    reasons, which no verdict lacks."""
    givens, namer = reading.givens, named_by_key(DIMENSIONS)
    return {
        **remarks(givens, ("evidence", "rationale")),
        "dimensions": reading.settle_map(inside_or_flat(givens, "dimensions"), namer, lambda _, raw: values.side(raw)),
        # A reason may follow the name.
        "decided_by": reading.one(
            fields(givens, "decided_by"),
            lambda raw: namer.find(_REASON.split(raw, 1)[0]) if isinstance(raw, str) else None,
        ),
        "preference": reading.one(fields(givens, "preference"), values.preference),
    }


def remarks(givens: Givens, keys: Iterable[str]) -> dict[str, str]:
    """The texts under these keys that are for the record alone, as far as they were given, those in fences first."""
    ranked = sorted(givens, key=lambda given: not given.fenced)
    said = {key: (values.remark(given.value) for given in fields(ranked, key)) for key in keys}
    texts = {key: next((text for text in given if text is not None), None) for key, given in said.items()}
    return {key: text for key, text in texts.items() if text is not None}


@dataclass(frozen=True, slots=True)
class Format:
    """How calls of a kind are answered: the keys of the answer, its reader, and the names of items that may stand
    without such a key."""

    keys: tuple[str, ...]
    read: Callable[[Reading], dict[str, Any]]
    namer: Callable[[Asked, Codebook], Namer] | None = None


_WITHOUT_KEY = ("items", Q1, Q2, Q3, FOLLOW_UP, FOUR_BRANCH)
FORMATS: Mapping[str, Format] = {
    "draft": Format(("drafted_response",), draft),
    "judge": Format((*RATINGS, JUDGE_MAP), judge, lambda asked, _: named_by_question(asked.questions)),
    "review": Format(("emotion_tags", *BINARY_MAPS), review),
    "binary_hp": Format(BINARY_MAPS, binary),
    "pairwise": Format(("pairwise_selections",), pairwise, lambda asked, _: named_by_index(asked.comparisons)),
    "post": Format(
        ("predicted_post_panas", "predicted_panas_delta", WIDE),
        post,
        lambda _, book: named_by_key((*book.panas, *book.branches, *_WITHOUT_KEY)),
    ),
    "respond": Format(("drafted_response",), draft),
    "verdict": Format(
        ("preference", "dimensions", "decided_by", "evidence"), verdict, lambda *_: named_by_key(DIMENSIONS)
    ),
    "profile": Format((PREDICTED_PROFILE,), profile, lambda asked, _: named_by_key(t.id for t in asked.traits)),
}
