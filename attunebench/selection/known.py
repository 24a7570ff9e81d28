"""The fields that the conversations at hand have: names, options and cuts that only the data tell.

Settles what depends on all conversations together (thirds, the form in which ASRS-6 is given), adds the scales and
facts that no catalogue knows, and answers what values there are. Knows no condition.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from statistics import median
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attunebench.errors import UsageError
from attunebench.selection import catalogue
from attunebench.selection.catalogue import (
    ASRS,
    ASRS_COUNT,
    ASRS_CUTS,
    ASRS_SUM,
    CATALOGUE,
    FURTHER,
    PERSONALITY,
    SCREENING,
)
from attunebench.selection.fields import Bands, Field, fold
from attunebench.text import clean, printable

if TYPE_CHECKING:
    from attunebench.scores import GroundTruthEntry

_Made = TypeVar("_Made")
_KNOWN_SCORES = frozenset(
    field.name for field in CATALOGUE if field.kind == "number" and field.group in (SCREENING, PERSONALITY)
)
_KNOWN_TOLD = frozenset(
    ("country", "education", "work_edu_background", "gender", "age_range", "english_proficiency", "diagnoses")
)
_BEGINS = re.compile(r"[0-9]{1,9}(?![0-9a-z])")
_RESERVED = frozenset(("and", "or", "not", "in", "contains", "between", "is", "known", "missing"))


@dataclass(frozen=True)
class Fields:
    """The fields of the conversations at hand, by name, and the values that they have there."""

    entries: tuple[GroundTruthEntry, ...]
    by_name: Mapping[str, Field]
    _made: dict[tuple[str, str], object] = dataclasses.field(default_factory=dict, repr=False, compare=False)

    def __iter__(self) -> Iterator[Field]:
        return iter(self.by_name.values())

    def named(self, name: str) -> Field:
        """The field of this name or alias, in any letter case; UsageError names the nearest ones."""
        wanted = _key(name)
        if (found := self._spellings.get(wanted)) is not None:
            return found
        near = difflib.get_close_matches(wanted[:100], self._spellings, n=5, cutoff=0.5)
        names = list(dict.fromkeys(self._spellings[spelling].name for spelling in near))[:3]
        hint = f"Did you mean {' or '.join(names)}?" if names else "`--list-fields` shows those that there are."
        raise UsageError(f"there is no field “{printable(name, 60)}”. {hint}")

    @cached_property
    def _spellings(self) -> dict[str, Field]:
        """Every spelling under which a field is taken; a field's own name goes before another's alias."""
        found = {_key(name): field for name, field in self.by_name.items()}
        for field in self.by_name.values():
            for spelling in (field.option, field.name.replace("_", ""), *field.aliases):
                if spelling is not None:
                    found.setdefault(_key(spelling), field)
        return found

    def counts(self, field: Field) -> Mapping[str, int]:
        """Value → how many conversations have it, of a text or list field, the most frequent first.

        Bands stand in their order, and values that all begin with a number (age ranges) in that of their numbers.
        Spellings that are the same (see `fields.fold`) count under the one that comes first.
        """
        return self._once("counts", field, _count)

    def shown(self, field: Field) -> Mapping[str, str]:
        """Folded value → the spelling that is shown, of a text or list field."""
        return self._once("shown", field, lambda *_: {fold(value): value for value in self.counts(field)})

    def numbers(self, field: Field) -> Sequence[float]:
        """The values of a number field, of those conversations that have one."""
        return self._once("numbers", field, _numbers)

    def _once(self, what: str, field: Field, make: Callable[[Field, tuple[GroundTruthEntry, ...]], _Made]) -> _Made:
        """What is made of a field's values, made when it is first asked for."""
        key = (what, field.name)
        if key not in self._made:
            self._made[key] = make(field, self.entries)
        return cast(_Made, self._made[key])


def fields_of(entries: Iterable[GroundTruthEntry]) -> Fields:
    """The fields by which these conversations can be chosen: the catalogue, also where nothing is known, and the rest.

    Thirds are taken over the participants for what is said of a person, else over the conversations.
    """
    given = tuple(entries)
    fields = {field.name: field for field in CATALOGUE}
    for field in _further(given, fields):
        fields[field.name] = field
    for name, field in fields.items():
        if field.kind == "number":
            fields[name] = _ranged(_asrs(field, given) if name == ASRS else field, given)
    for name, field in fields.items():
        if field.bands is not None:
            fields[name] = replace(field, bands=_settled(field.bands, fields[field.bands.of.name], given))
    return Fields(given, fields)


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
    total = sum(sizes)
    distances = [abs(3 * reached - total) for reached in accumulate(sizes[:-1])]
    return distances.index(min(distances)) + 1


def _asrs(field: Field, entries: Sequence[GroundTruthEntry]) -> Field:
    """ASRS-6 in the form that the data has: a value above 6 somewhere means sums."""
    largest = max(_numbers(field, entries), default=0.0)
    high, label = (
        (ASRS_SUM, "ASRS-6 (read as a sum of 0–24, as a value above 6 occurs)")
        if largest > ASRS_COUNT
        else (ASRS_COUNT, "ASRS-6 (read as a count of 0–6, as no value is above 6)")
    )
    return replace(field, label=label, high=high, cutoff=("min", str(int(ASRS_CUTS[high]))))


def _ranged(field: Field, entries: Sequence[GroundTruthEntry]) -> Field:
    """A field whose range holds the data, should those go beyond it."""
    numbers = _numbers(field, entries)
    if not numbers:
        return field
    low = None if field.low is None else min(field.low, *numbers)
    high = None if field.high is None else max(field.high, *numbers)
    return replace(field, low=low, high=high)


def _settled(bands: Bands, of: Field, entries: Sequence[GroundTruthEntry]) -> Bands:
    if bands.rule == "fixed":
        return replace(bands, of=of)
    if bands.rule == "asrs":
        form = ASRS_SUM if of.high is not None and of.high > ASRS_COUNT else ASRS_COUNT
        return replace(bands, of=of, cuts=(ASRS_CUTS[form],))
    theirs: dict[Any, list[float]] = {}
    for who, entry in zip(people(entries) if of.of_person else range(len(entries)), entries, strict=True):
        if (number := of.number(entry)) is not None:
            theirs.setdefault(who, []).append(number)
    return replace(bands, of=of, cuts=thirds([median(numbers) for numbers in theirs.values()]))


def _further(entries: Sequence[GroundTruthEntry], taken: Mapping[str, Field]) -> list[Field]:
    """Fields for scales and told facts that the catalogue does not know, in alphabetical order."""
    scales = sorted({key for entry in entries for key in entry["computed_scores"]} - _KNOWN_SCORES)
    told = sorted({key for entry in entries for key in entry["demographics"]} - _KNOWN_TOLD)
    found: dict[str, Field] = {}
    for key in scales:
        _add(found, taken, key, "number", "A scale of this data.", catalogue.score(key))
    for key in told:
        values = [value for entry in entries if (value := entry["demographics"].get(key)) is not None]
        if any(isinstance(value, (list, tuple)) for value in values):
            _add(found, taken, key, "list", "Told by the person.", catalogue.demographics(key))
        elif values and all(catalogue.number_of(value) is not None for value in values):
            _add(found, taken, key, "number", "Told by the person.", catalogue.demographic_number(key))
        elif any(catalogue.text_of(value) is not None for value in values):
            _add(found, taken, key, "text", "Told by the person.", catalogue.demographic(key))
    return list(found.values())


def _add(found: dict[str, Field], taken: Mapping[str, Field], key: str, kind: Any, meaning: str, source: Any) -> None:
    """A further field under a name that can be typed and that no other has."""
    stem = name = _key(key) or "unnamed"
    number = 2
    while name in taken or name in found or name in _RESERVED:
        name, number = f"{stem}_{number}", number + 1
    label = printable(key, 60) or name
    found[name] = Field(name, kind, label, meaning, FURTHER, source, of_person=True)


def _key(name: str) -> str:
    """A name as it is typed: lower case, with underscores for whatever is no letter or digit."""
    return re.sub(r"\W+", "_", clean(name).replace("-", "_").casefold()).strip("_")


def _numbers(field: Field, entries: Iterable[GroundTruthEntry]) -> Sequence[float]:
    return [number for entry in entries if (number := field.number(entry)) is not None]


def _count(field: Field, entries: Iterable[GroundTruthEntry]) -> Mapping[str, int]:
    shown: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for entry in entries:
        folded = {fold(text): text for text in reversed(field.texts(entry) or ())}
        for key, text in folded.items():
            shown.setdefault(key, text)
            counts[key] += 1
    if field.bands is not None:
        return {name: counts[fold(name)] for name in field.bands.names if counts[fold(name)]}
    ordered = sorted(counts, key=lambda key: (-counts[key], key))
    begun = {key: found.group() for key in ordered if (found := _BEGINS.match(key))}
    if len(begun) == len(ordered):
        ordered.sort(key=lambda key: int(begun[key]))
    return {shown[key]: counts[key] for key in ordered}
