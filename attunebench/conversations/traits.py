"""What a participant's profile says, trait by trait, as answers from fixed lists that depend on no data. Traits are
self-reported and scales are screeners: no value here is a finding about anybody."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from attunebench.conversations.groups import ANXIETY_DEPRESSION, ASD_ADHD, NONE, OTHER, diagnosis_groups

if TYPE_CHECKING:
    from attunebench.conversations.schema import Conversation, ParticipantProfile

# Screening scales and their cut-offs (spec 08)

POOR, NOT_POOR = "poor", "not poor"
NEGATIVE, POSITIVE = "screen-negative", "screen-positive"
ASRS = "asrs_6"
ASRS_COUNT_TOP = 6
"""A value above this says that the data's ASRS-6 are sums of 0–24 and no counts of 0–6."""


class Division(NamedTuple):
    """A number divided into bands: their names from the lowest up, and where each but the first begins.

    `top`: the highest value, where there are forms of the scale with different ones.
    """

    names: tuple[str, ...]
    cuts: tuple[float, ...]
    top: int | None = None

    def band(self, value: float) -> str:
        """The band that a value is in."""
        return self.names[bisect_right(self.cuts, value)]

    @property
    def ranges(self) -> dict[str, str]:
        """Band → its values in words: "below 13", "55 to < 60", "4 and above of 6"."""
        above = f"{self.cuts[-1]:g} and above" + (f" of {self.top}" if self.top else "")
        between = [f"{low:g} to < {high:g}" for low, high in pairwise(self.cuts)]
        return dict(zip(self.names, (f"below {self.cuts[0]:g}", *between, above), strict=True))


_SEVERITY = Division(("normal", "mild", "moderate", "severe"), (55, 60, 70))
DIVISIONS: Mapping[str, Division] = {
    "who_5": Division((POOR, NOT_POOR), (13,)),
    "aq_10": Division((NEGATIVE, POSITIVE), (6,)),
    **{f"promis_{what}_t": _SEVERITY for what in ("anxiety", "depression", "sleep")},
}
"""Scale → its bands; that of ASRS-6 depends on the data."""
ASRS_COUNT = Division((NEGATIVE, POSITIVE), (4,), top=6)
ASRS_SUM = Division((NEGATIVE, POSITIVE), (14,), top=24)


def asrs_division(values: Iterable[float | None]) -> Division:
    """The bands of ASRS-6 in the form that these values have."""
    return ASRS_SUM if any(value is not None and value > ASRS_COUNT_TOP for value in values) else ASRS_COUNT


def asrs_text(form: Division) -> str:
    """How ASRS-6 is read, and why: for the end of a sentence."""
    if form == ASRS_SUM:
        return "a sum of 0–24, as a value is above 6: 14 and above is screen-positive"
    return "a count of 0–6, as no value is above 6: 4 and above is screen-positive"


# Traits

CANNOT_TELL = "cannot tell"
"""The answer of somebody who declines to say; no truth is ever this."""

PROFILE_TASK = "profile"
"""The value of `task` in a file that predicts traits; results of the benchmark have no such key."""

DIAGNOSES = "diagnosis_groups"


@dataclass(frozen=True, slots=True)
class Span:
    """A truth that is known as a range alone, both ends included; an open end is infinite."""

    low: float
    high: float


Truth = str | frozenset[str] | float | Span
"""Of a choice, of groups, of a scale, of an age."""


@dataclass(frozen=True, slots=True)
class Trait:
    """One thing that a profile may say.

    `form`: one of `options` (a choice), one or several of them (groups), a whole number from `low` to `high` (a scale,
    an age). `division` has the bands of a screening scale, whose score in a profile is `score`.
    """

    id: str
    label: str
    form: Literal["choice", "groups", "scale", "age"]
    options: tuple[str, ...] = ()
    low: int = 0
    high: int = 0
    division: Division | None = None
    score: str = ""

    @property
    def screener(self) -> bool:
        return self.division is not None


GENDERS = ("woman", "man", "another gender")
EDUCATION = (
    "secondary school or less",
    "vocational training or some college",
    "bachelor's degree",
    "master's degree or doctorate",
)
ENGLISH = ("native", "fluent", "intermediate or less")

_TIPI = {
    "tipi_extraversion": "Extraversion (TIPI)",
    "tipi_agreeableness": "Agreeableness (TIPI)",
    "tipi_conscientiousness": "Conscientiousness (TIPI)",
    "tipi_stability": "Emotional stability (TIPI)",
    "tipi_openness": "Openness (TIPI)",
}


def _screener(id: str, label: str, score: str = "") -> Trait:
    division = ASRS_COUNT if id == ASRS else DIVISIONS[score or id]
    options = division.names[::-1] if POSITIVE in division.names else division.names
    return Trait(id, label, "choice", options, division=division, score=score or id)


TRAITS: tuple[Trait, ...] = (
    Trait(DIAGNOSES, "Diagnosis groups", "groups", (NONE, ANXIETY_DEPRESSION, ASD_ADHD, OTHER)),
    _screener("who_5", "Well-being (WHO-5)"),
    _screener("promis_anxiety", "Anxiety (PROMIS)", "promis_anxiety_t"),
    _screener("promis_depression", "Depression (PROMIS)", "promis_depression_t"),
    _screener("promis_sleep", "Sleep disturbance (PROMIS)", "promis_sleep_t"),
    _screener("aq_10", "Autistic traits (AQ-10)"),
    _screener(ASRS, "ADHD symptoms (ASRS-6)"),
    *(Trait(name, label, "scale", low=2, high=14) for name, label in _TIPI.items()),
    Trait("age", "Age", "age", low=18, high=99),
    Trait("gender", "Gender", "choice", GENDERS),
    Trait("education", "Education", "choice", EDUCATION),
    Trait("english_proficiency", "English", "choice", ENGLISH),
)
"""In the order in which they are asked and shown."""


def traits_of(conversations: Iterable[Conversation]) -> tuple[Trait, ...]:
    """`TRAITS` with the bands of ASRS-6 in the form that these data have; ids, options and ranges are the same."""
    form = asrs_division(_asrs_scores(conversations))
    return tuple(replace(trait, division=form) if trait.id == ASRS else trait for trait in TRAITS)


def asrs_note(conversations: Iterable[Conversation]) -> tuple[str, ...]:
    """How the ASRS-6 of these data is read, in a sentence; nothing where they have none."""
    scores = _asrs_scores(conversations)
    return (f"ASRS-6 is taken as {asrs_text(asrs_division(scores))}.",) if scores else ()


def _asrs_scores(conversations: Iterable[Conversation]) -> list[float]:
    profiles = [c.profile.computed_scores for c in conversations if c.profile is not None]
    return [scores[ASRS] for scores in profiles if ASRS in scores]


def truth_of(trait: Trait, profile: ParticipantProfile | None) -> Truth | None:
    """What the profile says; None where it says nothing, or nothing that fits one answer."""
    if profile is None:
        return None
    if trait.id == DIAGNOSES:
        groups = frozenset(diagnosis_groups(profile.demographics.diagnoses)) & frozenset(trait.options)
        return groups or None
    if trait.id in _TOLD:
        words = _told(profile, trait.id)
        return _TOLD[trait.id](words) if words else None
    value = profile.computed_scores.get(trait.score or trait.id)
    if value is None:
        return None
    if trait.division is not None:
        return trait.division.band(value)
    return float(value) if trait.low <= value <= trait.high else None


def untold(trait: Trait, profile: ParticipantProfile | None) -> str | None:
    """The profile's words about a trait where they fit none of its answers; None where they do, or there are none."""
    if profile is None or trait.id not in _TOLD or truth_of(trait, profile) is not None:
        return None
    return _told(profile, trait.id)


_NOT_SAID = frozenset({"", "n/a", "prefer not to say", "prefer not to answer", "not stated", "unknown"})


def _told(profile: ParticipantProfile, trait_id: str) -> str | None:
    field = "age_range" if trait_id == "age" else trait_id
    value = getattr(profile.demographics, field)
    words = " ".join(str(value or "").replace("’", "'").casefold().split())
    return None if words in _NOT_SAID else words


_NUMBERS = re.compile(r"\d{1,3}")
_OPEN_ABOVE = re.compile(r"\+|\b(?:over|above|older|more|up)\b")
_OPEN_BELOW = re.compile(r"\b(?:under|below|less than)\b|^<")


def _age(words: str) -> Span | None:
    """ "25-34", "65+", "under 25", "41": the years between which an age lies."""
    years = [float(number) for number in _NUMBERS.findall(words)]
    if len(years) == 2 and years[0] <= years[1]:
        return Span(years[0], years[1])
    if len(years) != 1:
        return None
    if _OPEN_ABOVE.search(words):
        return Span(years[0], float("inf"))
    if _OPEN_BELOW.search(words):
        return Span(0.0, years[0] - 1)
    return Span(years[0], years[0])


def _gender(words: str) -> str:
    """What names neither a woman nor a man alone is another gender, in whatever words it was told."""
    said = set(re.findall(r"[a-z]+", words))
    named = [bool(said & names) for names in ({"woman", "female", "f"}, {"man", "male", "m"})]
    if sum(named) != 1 or said & {"non", "nonbinary", "binary", "genderqueer", "genderfluid"}:
        return GENDERS[2]
    return GENDERS[0] if named[0] else GENDERS[1]


def _english(words: str) -> str | None:
    if "non-native" in words or "near-native" in words or "non native" in words:
        words = words.replace("native", "")
    return _first_named(words, _ENGLISH_WORDS)


_EDUCATION_WORDS = (
    (("master", "doctor", "phd", "ph.d", "mba", "postgraduate", "professional degree"), EDUCATION[3]),
    (("post-secondary", "postsecondary"), EDUCATION[1]),
    (("high school", "secondary", "a-level", "a level", "gcse", "primary", "no formal"), EDUCATION[0]),
    (("bachelor", "undergraduate degree", "university degree", "college degree"), EDUCATION[2]),
    (("some college", "some university", "vocational", "associate", "trade", "technical", "apprentic", "certificate",
      "diploma"), EDUCATION[1]),
    (("graduate degree", "graduate school"), EDUCATION[3]),
)  # fmt: skip
_ENGLISH_WORDS = (
    (("native", "mother tongue", "first language", "bilingual"), ENGLISH[0]),
    (("fluent", "advanced", "proficient", "c1", "c2"), ENGLISH[1]),
    (("intermediate", "basic", "beginner", "elementary", "limited", "conversational", "a1", "a2", "b1", "b2"),
     ENGLISH[2]),
)  # fmt: skip


def _first_named(words: str, answers: Iterable[tuple[tuple[str, ...], str]]) -> str | None:
    return next((answer for parts, answer in answers if any(part in words for part in parts)), None)


_TOLD: Mapping[str, Callable[[str], Truth | None]] = {
    "age": _age,
    "gender": _gender,
    "education": lambda words: _first_named(words, _EDUCATION_WORDS),
    "english_proficiency": _english,
}
