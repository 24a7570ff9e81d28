"""Who the participants are, as they told it, and what their screening scales say. A screener is never a diagnosis."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterable

from attunebench.analyses.common import counted
from attunebench.analyses.model import Analysis, Table
from attunebench.conversations import Conversation
from attunebench.conversations.groups import GROUPS, diagnosis_groups
from attunebench.conversations.traits import ASRS, Trait, asrs_is_sum, traits_of, truth_of
from attunebench.datasets.describing.tables import (
    Data,
    Facet,
    Quantity,
    facet,
    facet_table,
    shown,
    spread_table,
)

_TOLD = {
    "gender": "Gender",
    "age_range": "Age",
    "country": "Country",
    "education": "Education",
    "english_proficiency": "English",
}
_BANDS = {
    "who_5": ("poor (below 13)", "not poor (13 and above)"),
    "promis": ("normal (T below 55)", "mild (T 55 to < 60)", "moderate (T 60 to < 70)", "severe (T 70 and above)"),
    "aq_10": ("screen-positive (6 and above)", "screen-negative (below 6)"),
    "count": ("screen-positive (4 and above of 6)", "screen-negative (below 4)"),
    "sum": ("screen-positive (14 and above of 24)", "screen-negative (below 14)"),
}
"""In the order of the answers of `conversations.traits`, which decides who is in which."""


def describe(data: Data) -> Analysis:
    """Demographics, self-reported diagnoses and their groups, bands of the screeners, and all scales."""
    tables = (_demographics(data), _diagnoses(data), _groups(data), _screeners(data), _scales(data))
    known = sum(any(c.profile is not None for c in theirs) for theirs in data.people.values())
    return Analysis(
        "people",
        "Participants",
        "Who are the people behind the conversations?",
        shows=f"{counted(known, 'participant')} of {len(data.people)} with a profile.",
        tables=tables,
        cannot="Diagnoses are self-reported. A band of a screening scale is “screen-positive” and never a diagnosis.",
        notes=(
            "A table over people can tell who they are: before it is published, look for cells with few participants."
            + ("" if data.mask_below > 1 else " --mask-below N hides them."),
        ),
    )


def _demographics(data: Data) -> Table:
    def reader(name: str) -> Callable[[Conversation], Iterable[str]]:
        return lambda c: filter(None, (getattr(c.profile.demographics, name),)) if c.profile else ()

    facets = [
        facet(data, label, reader(name), order=_ages(data) if name == "age_range" else ())
        for name, label in _TOLD.items()
    ]
    facets.append(
        facet(
            data,
            "Work or studies",
            lambda c: c.profile.demographics.work_edu_background if c.profile else (),
            single=False,
        )
    )
    return facet_table(
        "demographics",
        "Demographics",
        facets,
        data,
        caption="Shares of the participants who told. Of work or studies several can be told.",
    )


def _ages(data: Data) -> list[str]:
    """The age ranges that are told, the youngest first."""
    told = {c.profile.demographics.age_range for c in data.conversations if c.profile is not None} - {None}
    return sorted(
        (age for age in told if age), key=lambda age: (int((re.findall(r"[0-9]{1,9}", age) or ["0"])[0]), age)
    )


def _diagnoses(data: Data) -> Table:
    found = facet(
        data, "Diagnosis (self-reported)", lambda c: c.profile.demographics.diagnoses if c.profile else (), single=False
    )
    return facet_table(
        "diagnoses",
        "Diagnoses, self-reported",
        [found],
        data,
        caption=f"Several can be told. Shares of the {counted(found.told.people, 'participant')} who told.",
    )


def _groups(data: Data) -> Table:
    found = facet(
        data,
        "Group",
        lambda c: diagnosis_groups(c.profile.demographics.diagnoses) if c.profile else (),
        order=GROUPS,
        closed=True,
        single=False,
    )
    return facet_table(
        "diagnosis_groups",
        "Groups of diagnoses, self-reported",
        [found],
        data,
        caption="By parts of the names; somebody can be in several groups.",
    )


def _screeners(data: Data) -> Table:
    form = "sum" if asrs_is_sum(data.conversations) else "count"
    facets = [_band(data, trait, form) for trait in traits_of(data.conversations) if trait.screener]
    scale = "a sum of 0–24, as a value above 6 occurs" if form == "sum" else "a count of 0–6, as no value is above 6"
    known = any(ASRS in c.profile.computed_scores for c in data.conversations if c.profile is not None)
    return facet_table(
        "screeners",
        "Bands of screening scales",
        facets,
        data,
        caption="Screeners, no diagnoses. Shares of the participants with a value.",
        notes=(f"ASRS-6 is read as {scale}.",) if known else (),
    )


def _band(data: Data, trait: Trait, form: str) -> Facet:
    key = form if trait.id == ASRS else "promis" if trait.id.startswith("promis") else trait.id
    words = dict(zip(trait.options, _BANDS[key], strict=True))

    def read(conversation: Conversation) -> Iterable[str]:
        band = truth_of(trait, conversation.profile)
        return (words[band],) if isinstance(band, str) else ()

    return facet(data, trait.label, read, order=tuple(words.values()), closed=True)


def _scales(data: Data) -> Table:
    """A participant's value is the mean of what their conversations say, which is mostly one value."""
    further = {
        name for c in data.conversations if c.profile is not None for name in c.profile.computed_scores
    } - data.codebook.scales.keys()
    quantities = []
    for name in (*data.codebook.scales, *sorted(further)):
        values = [value for theirs in data.people.values() if (value := _mean(theirs, name)) is not None]
        scale = data.codebook.scales.get(name)
        label = shown(name) if scale is None else f"{scale.label} ({scale.range.removeprefix('T score, ')})"
        quantities.append(Quantity(label, values, len(data.people) - len(values)))
    return spread_table(
        "scales",
        "Scales",
        quantities,
        what="Scale",
        caption="Over participants; where conversations of one differ, their mean counts. TIPI has no cut-off.",
        mask_below=data.mask_below,
    )


def _mean(conversations: Iterable[Conversation], name: str) -> float | None:
    profiles = [c.profile for c in conversations if c.profile is not None]
    values = [p.computed_scores[name] for p in profiles if name in p.computed_scores]
    return statistics.fmean(values) if values else None
