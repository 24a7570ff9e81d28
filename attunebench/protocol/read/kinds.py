"""One reader per kind of call: the objects of a reply → the values of its answer format.

Each reader names its keys and says how a raw value is read; finding, mending and shapes are elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from attunebench.codebook import Codebook
from attunebench.protocol.calls import CHANGES, PREDICTED_PROFILE, RATINGS, Asked
from attunebench.protocol.read import items as names_of
from attunebench.protocol.read import names, values
from attunebench.protocol.read.decode import Obj, is_cut
from attunebench.protocol.read.shapes import (
    ASIDES,
    WRAPPERS,
    Given,
    Groups,
    Namer,
    Tally,
    bare,
    container,
    fields,
    inside_or_flat,
    items,
    key_name,
)
from attunebench.protocol.read.tags import tags
from attunebench.protocol.read.thoughts import spoken
from attunebench.protocol.read.traits import trait_answer

NOTHING = frozenset({"none", "n/a", "na", "nothing", "not applicable"})
"""A follow-up of such words alone says that nothing felt off."""
LONGEST_DRAFT = 100_000
"""Characters: no reply to a person is as long, and what is written must be small enough to be read again."""
_DRAFT_KEYS = frozenset({"draft", "draftresponse", "reply", "message"}) | WRAPPERS


@dataclass(slots=True)
class Reading:
    """What a reader works on. `groups`: the reply's objects; `prose`: its text, if it may be a draft by itself."""

    asked: Asked
    codebook: Codebook
    groups: Groups
    prose: str | None = None
    tally: Tally = field(default_factory=Tally)

    def choices(self, groups: Groups, namer: Namer, order: Iterable[str], read: Callable[[str, Any], Any],
                by_place: bool = False) -> dict[str, Any]:  # fmt: skip
        """The map of items under `groups`."""
        asked = tuple(order)
        return self.tally.settle_map(items(groups, namer, asked if by_place else ()), asked, read)

    def one(self, groups: Groups, read: Callable[[Any], Any]) -> Any:
        """A single value, which may stand beside a reason."""
        return self.tally.settle(groups, lambda given: bare(given.value, read))


def draft(reading: Reading) -> dict[str, Any]:
    """`drafted_response`: the text under its key, under the only key, or the whole reply where it is no JSON."""
    found = fields(reading.groups, "draftedresponse")
    if not any(found):
        found = tuple(tuple(_only_text(source)) for source in reading.groups)
    text = reading.tally.settle(found, _draft_text)
    if text is None and not any(found) and reading.prose is not None and len(reading.prose) <= LONGEST_DRAFT:
        text = values.prose(reading.prose)
    return {"drafted_response": text}


def _draft_text(given: Given) -> str | None:
    def read(value: Any) -> str | None:
        if not isinstance(value, str) or not given.trusts(value):
            return None
        said = spoken(value)
        return values.prose(said) if said is not None and len(said) <= LONGEST_DRAFT else None

    return bare(given.value, read)


def _only_text(group: Iterable[Given]) -> Iterable[Given]:
    for given in group:
        if isinstance(given.value, Obj):
            pairs = [(key_name(key), item) for key, item in given.value if key_name(key) not in ASIDES]
            if len(pairs) == 1 and pairs[0][0] in _DRAFT_KEYS and isinstance(pairs[0][1], str):
                yield Given(pairs[0][1], given.root)


def binary(reading: Reading) -> dict[str, Any]:
    """The two maps of `binary_hp`: question → yes or no."""
    namer = names.questions(reading.asked.questions)
    return {
        key: reading.choices(
            fields(reading.groups, key_name(key)), namer, reading.asked.questions, lambda _, raw: values.yes_no(raw)
        )
        for key in names_of.BINARY_MAPS
    }


def review(reading: Reading) -> dict[str, Any]:
    """`emotion_tags` and the two maps of `binary`."""
    found = fields(reading.groups, "emotiontags")
    display = reading.codebook.display_names
    read = reading.tally.settle(found, lambda given: tags(container(given.value), display))
    return {"emotion_tags": read, **binary(reading)}


def judge(reading: Reading) -> dict[str, Any]:
    """The ratings 1–7, where they are asked for, and the map about the draft."""
    answer: dict[str, Any] = {}
    if reading.asked.rated:
        for key in RATINGS:
            answer[key] = reading.one(fields(reading.groups, key_name(key)), lambda raw: values.number(raw, 1, 7))
    questions = reading.asked.questions
    answer[names_of.JUDGE_MAP] = reading.choices(
        inside_or_flat(reading.groups, key_name(names_of.JUDGE_MAP)),
        names.questions(questions),
        questions,
        lambda _, raw: values.yes_no(raw),
    )
    return answer


def pairwise(reading: Reading) -> dict[str, Any]:
    """`pairwise_selections`: index → A or B; a bare list counts where it has as many entries as were asked."""
    sides = reading.asked.comparisons
    selections = reading.choices(
        inside_or_flat(reading.groups, "pairwiseselections"),
        names.comparisons(sides),
        sides,
        lambda index, raw: values.letter(raw, sides[index]),
        by_place=True,
    )
    return {"pairwise_selections": selections}


def post(reading: Reading) -> dict[str, Any]:
    """The mood afterwards, item by item, and the answers about the whole talk."""
    low, high = (-6, 6) if reading.asked.panas in CHANGES else (1, 7)
    key = names_of.mood_key(reading.asked)
    panas = reading.codebook.panas
    other = "predictedpostpanas" if reading.asked.panas in CHANGES else "predictedpanasdelta"
    own = _unless_other(reading.groups, key_name(key), other)
    mood = inside_or_flat(_opened(inside_or_flat(own, key_name(key))), "items")
    predicted = reading.choices(mood, names.words(panas), panas, lambda _, raw: values.number(raw, low, high))
    return {key: {"items": predicted}, names_of.WIDE: _wide(reading)}


def _unless_other(groups: Groups, key: str, other: str) -> Groups:
    """The groups without the objects that answer another question in place of the one asked; beside it, it is extra."""
    return tuple(
        tuple(given for given in group if any(fields(((given,),), key)) or not any(fields(((given,),), other)))
        for group in groups
    )


def _opened(groups: Groups) -> Groups:
    return tuple(tuple(Given(container(given.value), given.root) for given in group) for group in groups)


def _wide(reading: Reading) -> dict[str, Any]:
    book = reading.codebook
    groups = _opened(inside_or_flat(reading.groups, key_name(names_of.WIDE)))
    branches = tuple(book.branches)
    q3 = reading.one(fields(groups, key_name(names_of.Q3), "q3"), lambda raw: _option(raw, book.q3_options))
    return {
        names_of.Q1: reading.one(
            fields(groups, key_name(names_of.Q1), "q1"), lambda raw: _options(raw, book.q1_options)
        ),
        names_of.Q2: reading.one(
            fields(groups, key_name(names_of.Q2), "q2"), lambda raw: _option(raw, book.q2_options)
        ),
        names_of.Q3: q3,
        names_of.FOLLOW_UP: _follow_up(reading, fields(groups, key_name(names_of.FOLLOW_UP), "q3followup"), q3),
        names_of.FOUR_BRANCH: reading.choices(
            inside_or_flat(groups, key_name(names_of.FOUR_BRANCH)),
            names.words(branches),
            branches,
            lambda _, raw: values.number(raw, 1, 7),
        ),
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


def _follow_up(reading: Reading, found: Groups, q3: str | None) -> list[str] | None:
    """Free text entries. Left out beside a positive Q3, or a word such as "None", means that nothing felt off."""
    before = reading.tally.given
    known = frozenset(map(values.squeezed, reading.codebook.follow_up_options))

    def read(given: Given) -> list[str] | None:
        return bare(
            given.value, lambda raw: _texts(raw, lambda text: given.trusts(text) or values.squeezed(text) in known)
        )

    entries = reading.tally.settle(found, read)
    left_out = reading.tally.given == before
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
    predicted = reading.choices(
        inside_or_flat(reading.groups, key_name(PREDICTED_PROFILE)),
        names.keys(traits),
        traits,
        lambda name, raw: trait_answer(traits[name], raw),
    )
    return {PREDICTED_PROFILE: predicted}


READERS: dict[str, Callable[[Reading], dict[str, Any]]] = {
    "draft": draft,
    "judge": judge,
    "review": review,
    "binary_hp": binary,
    "pairwise": pairwise,
    "post": post,
    "profile": profile,
}
