"""What people told: who they are, how they felt before and after, and what they answered about the whole conversation.

A screener is never a diagnosis.
"""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping

from attunebench.analyses.table import Analysis, Cell, Table, column, counts, table, words
from attunebench.analyses.verdicts import counted, number
from attunebench.conversations import Conversation
from attunebench.conversations.groups import GROUPS, diagnosis_groups
from attunebench.conversations.traits import ASRS, Trait, asrs_is_sum, traits_of, truth_of
from attunebench.datasets.describing.tables import (
    Data,
    Facet,
    Reader,
    facet,
    facet_table,
    fold,
    masked,
    person_of,
    shown,
    small_cells,
    spread_table,
)

_TOLD = {
    "gender": "Gender",
    "age_range": "Age",
    "country": "Country",
    "education": "Education",
    "english_proficiency": "English",
    "work_edu_background": "Work or studies",
}
_SEVERAL = ("work_edu_background",)
_BANDS = {
    "who_5": ("poor (below 13)", "not poor (13 and above)"),
    "promis": ("normal (T below 55)", "mild (T 55 to < 60)", "moderate (T 60 to < 70)", "severe (T 70 and above)"),
    "aq_10": ("screen-positive (6 and above)", "screen-negative (below 6)"),
    "count": ("screen-positive (4 and above of 6)", "screen-negative (below 4)"),
    "sum": ("screen-positive (14 and above of 24)", "screen-negative (below 14)"),
}
"""In the order of the answers of `conversations.traits`, which decides who is in which."""
_SIDES = {"positive": "Positive affect", "negative": "Negative affect"}
_RATINGS = range(1, 8)


def people(data: Data) -> Analysis:
    """Demographics, self-reported diagnoses and their groups, bands of the screeners, and all scales."""
    known = sum(any(c.profile is not None for c in theirs) for theirs in data.people.values())
    return Analysis(
        "people",
        "Participants",
        "Who are the people behind the conversations?",
        shows=f"{counted(known, 'participant')} of {len(data.people)} with a profile.",
        tables=(_demographics(data), *_diagnoses(data), _screeners(data), _scales(data)),
        cannot="Diagnoses are self-reported. A band of a screening scale is “screen-positive” and never a diagnosis.",
        notes=(
            "A table over people can tell who they are: before it is published, look for cells with few participants."
            + ("" if data.mask_below > 1 else " --mask-below N hides them."),
        ),
    )


def _demographic(name: str) -> Reader:
    """Reads what participants told of themselves: one text, several, or nothing."""

    def read(conversation: Conversation) -> Iterable[str]:
        value = getattr(conversation.profile.demographics, name) if conversation.profile else None
        return (value,) if isinstance(value, str) else value or ()

    return read


def _demographics(data: Data) -> Table:
    told = {c.profile.demographics.age_range for c in data.conversations if c.profile is not None} - {None}
    # The youngest first.
    ages = sorted(filter(None, told), key=lambda age: (int((re.findall(r"[0-9]{1,9}", age) or ["0"])[0]), age))
    facets = [
        facet(data, label, _demographic(name), ages if name == "age_range" else (), single=name not in _SEVERAL)
        for name, label in _TOLD.items()
    ]
    caption = "Shares of the participants who told. Of work or studies several can be told."
    return facet_table(data, "demographics", "Demographics", facets, caption)


def _diagnoses(data: Data) -> tuple[Table, Table]:
    diagnoses = _demographic("diagnoses")
    named = facet(data, "Diagnosis (self-reported)", diagnoses)
    groups = facet(data, "Group", lambda c: diagnosis_groups(diagnoses(c)), GROUPS, closed=True)
    told = f"Several can be told. Shares of the {counted(named.told.people, 'participant')} who told."
    by_part = "By parts of the names; somebody can be in several groups."
    return (
        facet_table(data, "diagnoses", "Diagnoses, self-reported", [named], told),
        facet_table(data, "diagnosis_groups", "Groups of diagnoses, self-reported", [groups], by_part),
    )


def _screeners(data: Data) -> Table:
    form = "sum" if asrs_is_sum(data.conversations) else "count"
    scale = "a sum of 0–24, as a value above 6 occurs" if form == "sum" else "a count of 0–6, as no value is above 6"
    known = any(ASRS in c.profile.computed_scores for c in data.conversations if c.profile is not None)
    bands = [_band(data, trait, form) for trait in traits_of(data.conversations) if trait.screener]
    caption = "Screeners, no diagnoses. Shares of the participants with a value."
    notes = (f"ASRS-6 is read as {scale}.",) if known else ()
    return facet_table(data, "screeners", "Bands of screening scales", bands, caption, notes=notes)


def _band(data: Data, trait: Trait, form: str) -> Facet:
    key = form if trait.id == ASRS else "promis" if trait.id.startswith("promis") else trait.id
    bands = dict(zip(trait.options, _BANDS[key], strict=True))

    def read(conversation: Conversation) -> Iterable[str]:
        band = truth_of(trait, conversation.profile)
        return (bands[band],) if isinstance(band, str) else ()

    return facet(data, trait.label, read, tuple(bands.values()), closed=True, single=True)


def _scales(data: Data) -> Table:
    """A participant's value is the mean of what their conversations say, which is mostly one value."""
    scores = {
        person: [c.profile.computed_scores for c in theirs if c.profile] for person, theirs in data.people.items()
    }
    known = data.codebook.scales
    further = sorted({name for theirs in scores.values() for score in theirs for name in score} - known.keys())
    labels = {name: f"{scale.label} ({scale.range.removeprefix('T score, ')})" for name, scale in known.items()}
    labels |= {name: shown(name) for name in further}

    def mean(theirs: list[Mapping[str, float]], name: str) -> float | None:
        values = [score[name] for score in theirs if name in score]
        return statistics.fmean(values) if values else None

    means = {label: [mean(theirs, name) for theirs in scores.values()] for name, label in labels.items()}
    caption = "Over participants; where conversations of one differ, their mean counts. TIPI has no cut-off."
    return spread_table(data, "scales", "Scales", "Scale", means, caption)


def affect(data: Data) -> Analysis:
    """PANAS totals before, after and their change; and each item. Published norms are for another scale."""
    quantities: dict[str, list[float | None]] = {}
    for side, label in _SIDES.items():
        before = [getattr(c.pre_panas, side) for c in data.conversations]
        after = [getattr(c.post_panas, side) for c in data.conversations]
        parts = {"before": before, "after": after, "change": _change(before, after)}
        quantities |= {f"{label}, {part}": values for part, values in parts.items()}
    caption = "Over conversations. Change: after minus before, where both are known."
    totals = spread_table(data, "totals", "PANAS totals", "Total", quantities, caption)
    means = {row[0].value: row[2].value for row in totals.rows}
    changes = [
        f"{label} changes by {number(value, 2, sign=True)} on average"
        for label in _SIDES.values()
        if isinstance(value := means.get(f"{label}, change"), (int, float))
    ]
    return Analysis(
        "affect",
        "Affect before and after",
        "How did people feel before the talk, and after it?",
        shows=f"{'; '.join(changes)}." if changes else "",
        tables=(totals, _items(data)),
        notes=("Totals run from 10 to 70 here (items 1–7). Published norms are for items 1–5 and do not apply.",),
        cannot="No change can be laid to the talk: nobody was asked without one. Positive and negative affect are two "
        "scales, not the ends of one.",
    )


def _change(before: list[float | None], after: list[float | None]) -> list[float | None]:
    return [None if then is None or now is None else now - then for then, now in zip(before, after, strict=True)]


def _items(data: Data) -> Table:
    items = data.codebook.panas
    before = [[c.pre_panas.items.get(item.lower()) for c in data.conversations] for item in items]
    after = [[c.post_panas.items.get(item.lower()) for c in data.conversations] for item in items]

    def mean(values: list[float | None]) -> Cell:
        known = [value for value in values if value is not None]
        if 0 < len(known) < data.mask_below:
            return masked(few=True, value=None)
        return Cell(statistics.fmean(known) if known else None, n=len(known) if len(known) < len(values) else None)

    positive = data.codebook.panas_positive
    return table(
        "items",
        "PANAS items",
        words("item", items, "Item"),
        words("side", ("positive" if item in positive else "negative" for item in items), "Side"),
        column("before", map(mean, before), "Before", digits=2),
        column("after", map(mean, after), "After", digits=2),
        column("change", map(mean, map(_change, before, after)), "Change", digits=2),
        caption=f"Means over {counted(len(data.conversations), 'conversation')}, from 1 to 7; n is told where some are "
        "unknown.",
    )


def answers(data: Data) -> Analysis:
    """Answers about the whole conversation: Q1 to Q3, the follow-up, and the ratings of the model's four branches."""
    return Analysis(
        "answers",
        "Answers about the whole conversation",
        "What were people looking for, and how well did the model fit?",
        tables=(
            _asked(data, "q1", "Q1, goals (several are possible)"),
            _asked(data, "q2", "Q2, how clearly feelings came out"),
            _asked(data, "q3", "Q3, fit of the model"),
            _follow_up(data),
            *_branches(data),
        ),
    )


def _asked(data: Data, name: str, title: str) -> Table:
    def read(conversation: Conversation) -> Iterable[str]:
        given = getattr(conversation.wide, name)
        return given or ("nothing named",) if isinstance(given, tuple) else _text(given)

    answer = facet(data, "Answer", read, getattr(data.codebook, f"{name}_options"), closed=True)
    caption = f"Shares of the {answer.told.conversations} conversations with an answer."
    return facet_table(data, name, title, [answer], caption, of="conversations")


def _follow_up(data: Data) -> Table:
    """Free texts are counted under the options of the codebook or not shown: they may tell who wrote them."""
    order, negative = data.codebook.follow_up_options, data.codebook.q3_negative
    options = {option.casefold(): option for option in order}

    def read(conversation: Conversation) -> Iterable[str]:
        given = conversation.wide.follow_up
        if given is None:
            return ()
        return [options.get(" ".join(text.split()).casefold(), "in own words") for text in given] or ("nothing named",)

    answer = facet(data, "What felt off", read, order, closed=True, among=lambda c: c.wide.q3 in negative)
    caption = (
        f"Asked after a negative Q3 alone; shares of the {answer.told.conversations} conversations with an answer. "
        "Texts that are no option of the codebook are counted, not shown."
    )
    return facet_table(data, "follow_up", "Follow-up: what felt off", [answer], caption, of="conversations")


def _branches(data: Data) -> tuple[Table, Table]:
    quantities: dict[str, list[float | None]] = {}
    rows: list[list[Cell]] = []
    for branch, entry in data.codebook.branches.items():
        quantities[entry.label] = [c.wide.four_branch.get(branch) for c in data.conversations]
        rated = [
            (int(rating + 0.5), person_of(c))
            for c in data.conversations
            if (rating := c.wide.four_branch.get(branch)) is not None
        ]
        numbers = Counter(rating for rating, _ in rated)
        few = small_cells([len({who for value, who in rated if value == r}) for r in _RATINGS], data.mask_below)
        rows.append([masked(few=hide, value=numbers[r]) for r, hide in zip(_RATINGS, few, strict=True)])
    rated_by = "Rated from 1 to 7 by the participant."
    return (
        spread_table(data, "branches", "Four Branch ratings of the original model", "Branch", quantities, rated_by),
        table(
            "branch_ratings",
            "Four Branch ratings, conversations by rating",
            words("branch", quantities, "Branch"),
            *(counts(f"rating_{r}", (row[r - 1] for row in rows), str(r)) for r in _RATINGS),
            caption="Ratings between two whole numbers are counted at the nearer one.",
        ),
    )


def topics(data: Data) -> Analysis:
    """Topics with their subtopics, attitudes, and the models that people talked with."""
    topic = facet(data, "Topic", topics_of)
    attitude = facet(data, "Attitude", lambda c: _text(c.profile.conversation_topic_attitude) if c.profile else ())
    model = facet(data, "Original model", lambda c: _text(c.metadata.get("model")))

    def shares(id: str, title: str, facets: list[Facet], caption: str) -> Table:
        return facet_table(data, id, title, facets, f"Shares of the conversations {caption}.", of="conversations")

    topic_table = shares("topics", "Topics", [topic], "that tell")
    # Of topics that are shown alone: subtopics of a masked one would add up to it.
    subtopics = [
        facet(
            data,
            name,
            lambda c: _text(c.metadata.get("subtopic")),
            among=lambda c, name=name: fold(name) in map(fold, topics_of(c)),  # type: ignore[misc]
        )
        for name in (str(row[0].value) for row in topic_table.rows)
    ]
    return Analysis(
        "topics",
        "Topics and models",
        "What are the conversations about, and with whom?",
        shows=f"{counted(len(topic.values), 'topic')}, {counted(len(model.values), 'original model')}.",
        tables=(
            topic_table,
            shares("subtopics", "Subtopics by topic", subtopics, "of a topic that tell a subtopic"),
            shares("attitudes", "Attitude to the topic", [attitude], "that tell"),
            shares("models", "Original models", [model], "that tell"),
        ),
    )


def topics_of(conversation: Conversation) -> tuple[str, ...]:
    """The topics of a conversation: the file's category, a text or a list of them."""
    category = conversation.metadata.get("category")
    given = category if isinstance(category, (list, tuple)) else (category,)
    return tuple(topic for one in given for topic in _text(one))


def _text(value: object) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) and value.strip() else ()
