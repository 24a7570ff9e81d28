"""The fields by which conversations are chosen: each has a name, a type and a way to be read from the ground truth.

Cut-offs: spec 08. Scales are screeners and diagnoses are self-reported, so no field says what somebody has.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from math import isfinite
from statistics import median
from typing import TYPE_CHECKING, Any

from attunebench.conversations.groups import UNTOLD
from attunebench.conversations.traits import ASRS, DIVISIONS, Division, asrs_division, asrs_text
from attunebench.errors import UsageError
from attunebench.text import levelled, printable

if TYPE_CHECKING:
    from attunebench.scores import GroundTruthEntry

Value = float | tuple[str, ...] | None
"""A number, or the texts of a list (one, of a single text); None is not known."""

_FACTS: tuple[tuple[str, str, str], ...] = (
    ("diagnosis", "demographics.diagnoses", "Self-reported diagnoses."),
    ("diagnosis_group", "diagnosis_groups", "none, anxiety or depression, ASD or ADHD, other; any but none."),
    ("age", "demographics.age_range", "Age range, as named in the data."),
    ("gender", "demographics.gender", "Gender."),
    ("country", "demographics.country", "Country."),
    ("education", "demographics.education", "Highest education."),
    ("english", "demographics.english_proficiency", "How well the person knows English."),
    ("work", "demographics.work_edu_background", "Fields of work or study."),
    ("participant", "participant_id", "ID of the participant."),
    ("topic", "topics", "Topic category."),
    ("subtopic", "subtopic", "Subtopic."),
    ("attitude", "attitude", "The person's attitude towards the topic."),
    ("om_model", "om_model", "The original model (OM) that the person talked with."),
    ("conversation", "conversationId", "Id of the conversation."),
    ("file", "source_file", "Name of the conversation's file."),
    ("q1", "wide.q1", "What the person was looking for."),
    ("q2", "wide.q2", "How clear the person's feelings were."),
    ("q3", "wide.q3", "How well the OM fitted what the person needed."),
)
"""Name, where it stands in an entry of the ground truth, meaning."""
_PROMIS = ("anxiety", "depression", "sleep")
_T = "T score, mean 50, sd 10, high is worse; mild from 55, moderate from 60, severe from 70."
_SCALES: Mapping[str, str] = {
    "who_5": "Well-being, 0–25, higher is better; below 13 is poor.",
    "aq_10": "Autistic traits, 0–10; 6 and above is screen-positive.",
    **{f"promis_{what}": "Raw score, 4–20, high is worse; norms are for T." for what in _PROMIS},
    **{f"promis_{what}_t": _T for what in _PROMIS},
}
_TIPI = [f"tipi_{trait}" for trait in ("extraversion", "agreeableness", "conscientiousness", "stability", "openness")]
_RESERVED = ("and", "or", "not", "in", "contains", "between", "is", "known", "missing")


@lru_cache(maxsize=1 << 14)
def fold(text: str) -> str:
    """What two texts are compared by: letter case, white space, and the kind of dash or apostrophe don't count."""
    return " ".join(levelled(text).split()).casefold()


def plain(number: float) -> str:
    """A number as it is typed: 13, 57.3."""
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else repr(float(number))


@dataclass(frozen=True)
class Field:
    """Something known of conversations, under the name that `--where` calls it by, or its `alias`.

    `values` has an entry for each conversation at hand. `bands`, of a field that divides up a number: its values and
    what each stands for, from the lowest up.
    """

    name: str
    meaning: str
    values: Sequence[Value] = field(compare=False, repr=False)
    alias: str = ""
    bands: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def numbers(self) -> list[float]:
        """The values of a number field; of any other there are none."""
        return [value for value in self.values if isinstance(value, float)]

    def counts(self) -> Mapping[str, int]:
        """Value → how many conversations have it, of a field of texts, the most frequent first.

        Spellings that are the same (see `fold`) count under the one that comes first.
        """
        shown: dict[str, str] = {}
        counts: Counter[str] = Counter()
        for value in self.values:
            folded = {fold(text): text for text in reversed(value)} if isinstance(value, tuple) else {}
            shown = folded | shown
            counts.update(folded.keys())
        return {shown[key]: counts[key] for key in sorted(counts, key=lambda key: (-counts[key], key))}


@dataclass(frozen=True)
class Fields:
    """The fields of the conversations at hand, which are those of `entries` in their order."""

    entries: tuple[GroundTruthEntry, ...]
    listed: tuple[Field, ...]

    def named(self, name: str) -> Field:
        """The field of this name or alias, whatever its letter case and signs; UsageError names the nearest ones."""
        spellings = {_key(one.alias): one for one in self.listed if one.alias} | {
            _key(one.name): one for one in self.listed
        }
        if (found := spellings.get(_key(name))) is not None:
            return found
        near = difflib.get_close_matches(_key(name)[:100], spellings, n=3, cutoff=0.5)
        names = list(dict.fromkeys(spellings[spelling].name for spelling in near))
        hint = f"Did you mean {' or '.join(names)}?" if names else "`--list-fields` shows all fields."
        raise UsageError(f"there is no field “{printable(name, 60)}”. {hint}")


def fields_of(entries: Iterable[GroundTruthEntry]) -> Fields:
    """The fields by which these conversations can be chosen, also those of which nothing is known.

    Thirds are of the participants for what is known of a person, else of the conversations. Scales and self-reported
    facts that are not listed here become fields, too.
    """
    known = tuple(entries)
    found = [_field(known, name, tuple(path.split(".")), meaning) for name, path, meaning in _FACTS]
    found.append(
        Field("turns", "Number of messages that the person wrote.", [float(len(entry["turns"])) for entry in known])
    )
    asrs = asrs_division(_number(entry["computed_scores"].get(ASRS)) for entry in known)
    for name, meaning in {**_SCALES, ASRS: f"ADHD traits: {asrs_text(asrs)}."}.items():
        found.append(scale := _field(known, name, ("computed_scores", name), meaning))
        if (division := asrs if name == ASRS else DIVISIONS.get(name)) is not None:
            found.append(_bands(scale, division))
    for name in _TIPI:
        found.append(scale := _field(known, name, ("computed_scores", name), "Sum of two items, 2–14; no cut-off."))
        found.append(_thirds(scale, people(known)))
    found += _moods(known)
    return Fields(known, (*found, *_further(known, found)))


def people(entries: Sequence[GroundTruthEntry]) -> list[str | tuple[int]]:
    """Who each conversation is of; one of an unknown person is its own."""
    return [entry["participant_id"] or (place,) for place, entry in enumerate(entries)]


def thirds(numbers: Sequence[float]) -> tuple[float, float] | None:
    """Where the middle and the high third begin; None where all are equal or there is none.

    Equal numbers stay together: low are the lowest and high the highest values that come nearest to a third of all, the
    fewer where two ways are equally near. With few distinct values there may be no middle (both cuts are equal then).
    """
    counts = sorted(Counter(numbers).items())
    if len(counts) < 2:
        return None
    values, sizes = [value for value, _ in counts], [size for _, size in counts]
    low, high = _nearest_to_a_third(sizes), _nearest_to_a_third(sizes[::-1])
    return values[low], values[len(values) - high]


def _nearest_to_a_third(sizes: Sequence[int]) -> int:
    """How many of the first sizes sum up nearest to a third of all, at least one and never all."""
    distances = [abs(3 * reached - sum(sizes)) for reached in accumulate(sizes[:-1])]
    return distances.index(min(distances)) + 1


def _key(name: str) -> str:
    """What two names are compared by: letters and digits alone."""
    return re.sub(r"[\W_]+", "", name).casefold()


def _at(entry: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        entry = entry.get(key) if isinstance(entry, Mapping) else None
    return entry


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value) else None


def _texts(value: Any, *, self_reported: bool) -> tuple[str, ...]:
    """Texts without outer and double blanks; "Prefer not to say" about oneself is as if it were missing."""
    items = value if isinstance(value, (list, tuple)) else (value,)
    words = (str(item).lower() if isinstance(item, bool) else str(item) for item in items if item is not None)
    texts = (" ".join(text.split()) for text in words)
    return tuple(text for text in texts if text and not (self_reported and fold(text) in UNTOLD))


def _field(entries: Sequence[GroundTruthEntry], name: str, path: tuple[str, ...], meaning: str) -> Field:
    """A number where all values that there are are numbers, else texts."""
    found = [_at(entry, path) for entry in entries]
    if path[0] == "computed_scores" or all(value is None or _number(value) is not None for value in found):
        return Field(name, meaning, [_number(value) for value in found], path[-1])
    texts: list[Value] = [_texts(value, self_reported=path[0] == "demographics") or None for value in found]
    if name == "q1":  # An empty answer is an answer: nothing was looked for.
        texts = [() if value == [] else text for value, text in zip(found, texts, strict=True)]
    return Field(name, meaning, texts, path[-1])


def _bands(of: Field, division: Division | None, suffix: str = "band") -> Field:
    """Texts that divide up a number; they say nothing where there is no division."""
    bands = division.ranges if division else {}
    values = [(division.band(one),) if division and isinstance(one, float) else None for one in of.values]
    meaning = f"{suffix.capitalize()}s of {of.name}: {', '.join(f'{name} ({bands[name]})' for name in bands)}."
    return Field(f"{of.name.removesuffix('_t')}_{suffix}", meaning, values, bands=bands)


def _thirds(of: Field, units: Sequence[object]) -> Field:
    """Thirds of the units that the conversations belong to; a unit with several numbers stands for their median."""
    numbers: dict[object, list[float]] = {}
    for unit, value in zip(units, of.values, strict=True):
        if isinstance(value, float):
            numbers.setdefault(unit, []).append(value)
    cuts = thirds([median(values) for values in numbers.values()])
    return _bands(of, None if cuts is None else Division(("low", "middle", "high"), cuts), "third")


def _moods(entries: Sequence[GroundTruthEntry]) -> Iterator[Field]:
    """PANAS before and its change, by side, and both changes together. Published norms do not apply (spec 08)."""
    changes = []
    for side in ("positive", "negative"):
        meaning = f"Total of {side} affect before the conversation, 10–70; no norms apply."
        yield (before := _field(entries, f"panas_{side}_before", ("pre_panas", side), meaning))
        yield _thirds(before, range(len(entries)))
        ends = [[_number(_at(entry, (when, side))) for entry in entries] for when in ("pre_panas", "post_panas")]
        change = [None if None in (a, b) else b - a for a, b in zip(*ends, strict=True)]
        yield Field(f"panas_{side}_change", f"{side.capitalize()} affect after the conversation minus before.", change)
        changes.append(change)
    moods: list[Value] = []
    for positive, negative in zip(*changes, strict=True):
        if positive is None or negative is None:
            moods.append(None)
        else:
            gain, loss = positive > 0 or negative < 0, positive < 0 or negative > 0
            moods.append(("mixed" if gain and loss else "better" if gain else "worse" if loss else "unchanged",))
    meaning = "better (positive affect up or negative down, neither reversed), worse, mixed (both up or both down)"
    yield Field("mood_change", f"How PANAS moved: {meaning} or unchanged.", moods)


def _further(entries: Sequence[GroundTruthEntry], listed: Sequence[Field]) -> Iterator[Field]:
    """Scales and self-reported facts of these data that have no field yet, in alphabetical order."""
    taken = set(map(_key, (*_RESERVED, "", *(one.name for one in listed))))
    facts = {path.split(".")[1] for _, path, _ in _FACTS if path.startswith("demographics.")}
    for part, there in (("computed_scores", {*_SCALES, *_TIPI, ASRS}), ("demographics", facts)):
        for key in sorted({key for entry in entries for key in _at(entry, (part,))} - there):
            name = re.sub(r"[\W_]+", "_", printable(key).casefold()).strip("_")
            while _key(name) in taken:
                name += "_2"
            made = _field(entries, name, (part, key), "An additional fact in these data.")
            if any(value is not None for value in made.values):
                taken.add(_key(name))
                yield made
