"""The fields there are, whatever the data: what each is called, means and ranges over, and where it stands in an entry.

Ranges, directions and cut-offs: spec 08. Scales are screeners and diagnoses are what people told of themselves, so that
no field says what somebody has. The words of `--help` and of the docs page are made from this list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal

from attunebench.selection.fields import Bands, Field, Value, untold

if TYPE_CHECKING:
    from attunebench.scores import GroundTruthEntry

Source = Callable[["GroundTruthEntry"], Value]

PERSON = "The person"
CONVERSATION = "The conversation"
ANSWERS = "What the person said of the whole conversation"
SCREENING = "Screening scales (a screener is never a diagnosis)"
PERSONALITY = "Personality (TIPI)"
MOOD = "Mood (PANAS)"
FURTHER = "Further facts in this data"
GROUPS = (PERSON, CONVERSATION, ANSWERS, SCREENING, PERSONALITY, MOOD, FURTHER)
"""Headings, in the order in which fields are shown."""

ASRS = "asrs_6"
ASRS_COUNT, ASRS_SUM = 6.0, 24.0
"""The largest value of each of the two forms in which ASRS-6 is given."""
ASRS_CUTS = {ASRS_COUNT: 4.0, ASRS_SUM: 14.0}
THIRDS = ("low", "middle", "high")
_SCREEN = ("screen-negative", "screen-positive")
_SEVERITY = ("normal", "mild", "moderate", "severe")


# Reading


def text_of(value: Any, *, told: bool = True) -> str | None:
    """A text without outer and double blanks; None where it is empty or, unless `told`, where it tells nothing."""
    if isinstance(value, bool):
        value = "true" if value else "false"
    elif isinstance(value, (int, float)):
        value = str(value)
    if not isinstance(value, str):
        return None
    shown = " ".join(value.split())
    return None if not shown or (told and untold(shown)) else shown


def texts_of(value: Any, *, told: bool = True) -> tuple[str, ...] | None:
    """The texts of a list, or of one text; None where there are none."""
    given = value if isinstance(value, (list, tuple)) else (value,)
    return tuple(text for item in given if (text := text_of(item, told=told)) is not None) or None


def number_of(value: Any) -> float | None:
    """A finite number as a float, else None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if isfinite(value) else None


def demographic(key: str) -> Source:
    """Reads a text that people told of themselves."""
    return lambda entry: text_of(entry["demographics"].get(key))


def demographics(key: str) -> Source:
    """Reads a list of texts that people told of themselves."""
    return lambda entry: texts_of(entry["demographics"].get(key))


def demographic_number(key: str) -> Source:
    """Reads a number that people told of themselves."""
    return lambda entry: number_of(entry["demographics"].get(key))


def score(key: str) -> Source:
    """Reads a scale."""
    return lambda entry: number_of(entry["computed_scores"].get(key))


def _field(key: str) -> Source:
    """Reads a text or a list of the entry itself."""

    def read(entry: GroundTruthEntry) -> Value:
        value: Any = entry.get(key)
        return texts_of(value, told=False) if isinstance(value, list) else text_of(value, told=False)

    return read


def _wide(key: Literal["q2", "q3"]) -> Source:
    return lambda entry: text_of(entry["wide"][key], told=False)


def _q1(entry: GroundTruthEntry) -> Value:
    """An empty list is an answer here: nothing was looked for."""
    given = entry["wide"]["q1"]
    return None if given is None else texts_of(given, told=False) or ()


def _before(side: str) -> Source:
    return lambda entry: number_of(entry["pre_panas"].get(side))


def _change(side: str) -> Source:
    def read(entry: GroundTruthEntry) -> Value:
        before, after = number_of(entry["pre_panas"].get(side)), number_of(entry["post_panas"].get(side))
        return None if before is None or after is None else after - before

    return read


# The fields, group by group


def _person() -> Iterable[Field]:
    yield Field(
        "diagnosis",
        "list",
        "diagnosis",
        "A diagnosis that the person told of; the option takes a part of its name.",
        PERSON,
        demographics("diagnoses"),
        option="diagnosis",
        match="part",
        of_person=True,
        aliases=("diagnoses",),
    )
    yield Field(
        "diagnosis_group",
        "list",
        "diagnosis group",
        "Group of told diagnoses: none, anxiety or depression, ASD or ADHD, other, any; a person can be in several.",
        PERSON,
        _field("diagnosis_groups"),
        option="diagnosis-group",
        of_person=True,
        aliases=("diagnosis_groups",),
    )
    for name, key, label, meaning in (
        ("age", "age_range", "age", "Age range, as the data names it."),
        ("gender", "gender", "gender", "Gender."),
        ("country", "country", "country", "Country."),
        ("education", "education", "education", "Highest education, in full."),
        ("english", "english_proficiency", "English proficiency", "How well the person knows English."),
    ):
        read = demographic(key)
        yield Field(name, "text", label, meaning, PERSON, read, option=name, of_person=True, aliases=(key,))
    yield Field(
        "work",
        "list",
        "work or education background",
        "A field of work or study, in full.",
        PERSON,
        demographics("work_edu_background"),
        option="work",
        of_person=True,
        aliases=("work_edu_background",),
    )
    yield Field(
        "participant",
        "text",
        "participant",
        "Id of the person.",
        PERSON,
        _field("participant_id"),
        option="participant",
        of_person=True,
        aliases=("participant_id",),
    )


def _conversation() -> Iterable[Field]:
    yield _about(
        "topic",
        "topic",
        "Topic category; the beginning of a word in it will do.",
        _field("topics"),
        kind="list",
        aliases=("topics", "category"),
    )
    yield _about("subtopic", "subtopic", "Subtopic; the beginning of a word in it will do.", _field("subtopic"))
    meaning = "The person's attitude towards the topic."
    yield _about("attitude", "attitude", meaning, _field("attitude"), match="whole")
    meaning = "The original model (OM), with which the person talked."
    yield _about("om_model", "chat model", meaning, _field("om_model"), match="whole", aliases=("om",))
    yield Field(
        "turns",
        "number",
        "number of turns",
        "How many messages the person wrote.",
        CONVERSATION,
        lambda entry: float(len(entry["turns"])),
        option="turns",
        low=1.0,
        aliases=("n_turns",),
    )
    meaning = "Id of the conversation."
    read = _field("conversationId")
    yield _about("conversation", "conversation", meaning, read, option="conversation-id", match="whole")
    yield _about("file", "file", "Name of the conversation's file.", _field("source_file"), match="whole")


def _about(name: str, label: str, meaning: str, read: Source, **more: Any) -> Field:
    """A text or list field of the conversation."""
    standard = {"kind": "text", "group": CONVERSATION, "option": name.replace("_", "-"), "match": "words"}
    return Field(name=name, label=label, meaning=meaning, source=read, **{**standard, **more})


def _answers() -> Iterable[Field]:
    yield _about(
        "q1",
        "Q1",
        "What the person was looking for; the beginning of a word in the answer will do.",
        _q1,
        kind="list",
        group=ANSWERS,
    )
    yield _about("q2", "Q2", "How clearly the person's feelings came out; as Q1.", _wide("q2"), group=ANSWERS)
    yield _about(
        "q3", "Q3", "How well the chat model fitted what the person needed; as Q1.", _wide("q3"), group=ANSWERS
    )


def _scale(name: str, label: str, meaning: str, low: float, high: float, **more: Any) -> Field:
    option = name.replace("who_5", "who5").replace("aq_10", "aq10").replace("asrs_6", "asrs6").replace("_", "-")
    group = PERSONALITY if name.startswith("tipi") else SCREENING
    return Field(
        name, "number", label, meaning, group, score(name), option=option, of_person=True, low=low, high=high, **more
    )


def _bands(of: Field, ending: str, names: tuple[str, ...], meaning: str, bands: Bands, label: str = "") -> Field:
    """A text field that names stretches of a number field; `ending` is what its name adds."""
    return Field(
        f"{of.name.removesuffix('_t')}_{ending}",
        "text",
        label or f"{of.label} {ending}",
        f"{meaning}: {', '.join(names)}.",
        of.group,
        of.source,
        option=f"{(of.option or '').removesuffix('-t')}-{ending}",
        of_person=of.of_person,
        bands=bands,
    )


def _screening() -> Iterable[Field]:
    who = _scale("who_5", "WHO-5", "Well-being, high is well; below 13 is poor.", 0, 25, cutoff=("below", "13"))
    yield who
    names = ("poor", "not poor")
    yield _bands(who, "band", names, "Well-being by WHO-5, poor below 13", Bands(who, names, (13.0,)))
    aq = _scale("aq_10", "AQ-10", "Autistic traits; 6 and above is screen-positive.", 0, 10, cutoff=("min", "6"))
    yield aq
    yield _bands(aq, "band", _SCREEN, "AQ-10, screen-positive from 6", Bands(aq, _SCREEN, (6.0,)))
    meaning = (
        "ADHD traits: a count of 0–6 (4 and above is screen-positive) or a sum of 0–24 (14 and above), as the data has."
    )
    asrs = _scale(ASRS, "ASRS-6", meaning, 0, ASRS_SUM, cutoff=("min", "4"))
    yield asrs
    meaning = "ASRS-6, screen-positive from 4 of 6 or 14 of 24"
    yield _bands(asrs, "band", _SCREEN, meaning, Bands(asrs, _SCREEN, None, "asrs"))
    for what in ("anxiety", "depression", "sleep"):
        raw = _scale(f"promis_{what}", f"PROMIS {what}", "Raw score, high is worse; norms are for T.", 4, 20)
        meaning = "T score, mean 50, sd 10, high is worse; mild from 55, moderate from 60, severe from 70."
        t_score = _scale(f"promis_{what}_t", f"PROMIS {what} T", meaning, 0, 100, cutoff=("min", "55"))
        yield raw
        yield t_score
        bands = Bands(t_score, _SEVERITY, (55.0, 60.0, 70.0))
        yield _bands(t_score, "band", _SEVERITY, "Severity by the T score", bands, f"PROMIS {what} band")


def _personality() -> Iterable[Field]:
    for trait in ("extraversion", "agreeableness", "conscientiousness", "stability", "openness"):
        scale = _scale(f"tipi_{trait}", f"TIPI {trait}", "Sum of two items, 2–14; it has no cut-off.", 2, 14)
        yield scale
        meaning = "Third of the participants at hand"
        yield _bands(scale, "third", THIRDS, meaning, Bands(scale, THIRDS, None, "thirds"))


def _mood() -> Iterable[Field]:
    for side in ("positive", "negative"):
        before = Field(
            f"panas_{side}_before",
            "number",
            f"{side} affect before",
            f"Total of {side} affect before the talk, 10–70; no norms apply.",
            MOOD,
            _before(side),
            option=f"panas-{side}-before",
            low=10.0,
            high=70.0,
        )
        yield before
        meaning = "Third of the conversations at hand"
        yield _bands(before, "third", THIRDS, meaning, Bands(before, THIRDS, None, "thirds"))
        yield Field(
            f"panas_{side}_change",
            "number",
            f"change of {side} affect",
            f"{side.capitalize()} affect after the talk minus before.",
            MOOD,
            _change(side),
            option=f"panas-{side}-change",
            low=-60.0,
            high=60.0,
            cutoff=("below" if side == "negative" else "above", "0"),
        )


CATALOGUE: tuple[Field, ...] = (
    *_person(),
    *_conversation(),
    *_answers(),
    *_screening(),
    *_personality(),
    *_mood(),
)
"""All fields in the order in which they are shown. Cuts that depend on the data are settled by `known.fields_of`."""
