"""What people told: who they are, how they felt before and after, and what they answered about the whole conversation.
A screener is never a diagnosis."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from attunebench.analyses.table import Analysis, Table, column, table, words
from attunebench.analyses.verdicts import counted, number
from attunebench.conversations import Conversation
from attunebench.conversations.groups import GROUPS, diagnosis_groups
from attunebench.conversations.traits import Division, Trait, asrs_note, traits_of, truth_of
from attunebench.datasets.describing.tables import (
    Data,
    Facet,
    facet_table,
    fold,
    mean_cell,
    mean_of,
    shown,
    spread_table,
    texts_of,
)

_DEMOGRAPHICS = {
    "gender": "Gender",
    "age_range": "Age",
    "country": "Country",
    "education": "Education",
    "english_proficiency": "English",
    "work_edu_background": "Work or studies",
}
_QUESTIONS = {
    "q1": "Q1, goals (multiple answers)",
    "q2": "Q2, clarity of feelings",
    "q3": "Q3, fit of the model",
}
_NOTHING = "nothing named"
_ANSWERED = "Shares of the conversations with an answer."
_SIDES = {"positive": "Positive affect", "negative": "Negative affect"}


def people(data: Data) -> Analysis:
    """Demographics, self-reported diagnoses and their groups, bands of the screeners, and all scales."""
    known = sum(any(c.profile is not None for c in theirs) for theirs in data.people.values())
    ages = {c.profile.demographics.age_range or "" for c in data.conversations if c.profile is not None} - {""}
    youngest_first = sorted(ages, key=lambda age: (int((re.findall(r"[0-9]{1,9}", age) or ["0"])[0]), age))
    demographics = [
        Facet(
            label,
            _demographic(name),
            youngest_first if name == "age_range" else (),
            single=name != "work_edu_background",
        )
        for name, label in _DEMOGRAPHICS.items()
    ]
    bands = [_bands(trait, trait.division) for trait in traits_of(data.conversations) if trait.division]
    told = "Shares of the participants with an answer."
    return Analysis(
        "people",
        "Participants",
        "Who are the people behind the conversations?",
        shows=f"{counted(known, 'participant')} of {len(data.people)} with a profile.",
        tables=(
            facet_table(
                data,
                "demographics",
                "Demographics",
                demographics,
                f"{told} Multiple fields of work or study are possible.",
            ),
            facet_table(
                data,
                "diagnoses",
                "Diagnoses, self-reported",
                [Facet("Diagnosis (self-reported)", _demographic("diagnoses"))],
                f"{told} Multiple answers are possible.",
            ),
            facet_table(
                data,
                "diagnosis_groups",
                "Groups of diagnoses, self-reported",
                [Facet("Group", _groups, GROUPS, closed=True)],
                "Grouped by parts of the names; a person can be in several groups.",
            ),
            facet_table(
                data,
                "screeners",
                "Bands of screening scales",
                bands,
                "Screeners, not diagnoses. Shares of the participants with a value. PROMIS: T scores.",
                notes=asrs_note(data.conversations),
            ),
            _scales(data),
        ),
        cannot="Diagnoses are self-reported. A band of a screening scale is “screen-positive” and never a diagnosis.",
        notes=(
            "Tables about people can identify them: before publishing, check for cells with few participants."
            + ("" if data.mask_below > 1 else " --mask-below N hides them."),
        ),
    )


def _groups(conversation: Conversation) -> tuple[str, ...]:
    return diagnosis_groups(conversation.profile.demographics.diagnoses) if conversation.profile else ()


def _demographic(name: str) -> Callable[[Conversation], Any]:
    return lambda conversation: conversation.profile and getattr(conversation.profile.demographics, name)


def _bands(trait: Trait, division: Division) -> Facet:
    labels = {band: f"{band} ({values})" for band, values in division.ranges.items()}

    def read(conversation: Conversation) -> str | None:
        band = truth_of(trait, conversation.profile)
        return labels[band] if isinstance(band, str) else None

    return Facet(trait.label, read, [labels[band] for band in trait.options], closed=True, single=True)


def _scales(data: Data) -> Table:
    """A participant's value is the mean of what their conversations say, which is mostly one value."""
    scores = [[c.profile.computed_scores for c in theirs if c.profile] for theirs in data.people.values()]
    known = data.codebook.scales
    further = sorted({name for theirs in scores for score in theirs for name in score} - known.keys())
    labels = {name: f"{scale.label} ({scale.range.removeprefix('T score, ')})" for name, scale in known.items()}
    labels |= {name: shown(name) for name in further}
    means = {
        label: [mean_of([score[name] for score in theirs if name in score]) for theirs in scores]
        for name, label in labels.items()
    }
    caption = "Over participants; if a person's conversations differ, their mean is used. TIPI has no cut-off."
    return spread_table(data, "scales", "Scales", "Scale", means, caption)


def affect(data: Data) -> Analysis:
    """PANAS totals before, after and their change; and each item. Published norms are for another scale."""
    quantities: dict[str, Sequence[float | None]] = {}
    for side, label in _SIDES.items():
        before = [getattr(c.pre_panas, side) for c in data.conversations]
        after = [getattr(c.post_panas, side) for c in data.conversations]
        parts = {"before": before, "after": after, "change": _change(before, after)}
        quantities |= {f"{label}, {part}": values for part, values in parts.items()}
    caption = "Over conversations. Change is after minus before, where both are known."
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
        "How did people feel before and after the conversation?",
        shows=f"{'; '.join(changes)}." if changes else "",
        tables=(totals, _items(data)),
        notes=(
            "Totals range from 10 to 70 here (items from 1 to 7). Published norms for items from 1 to 5 do not apply.",
        ),
        cannot="Changes cannot be attributed to the conversation, because there is no control group. Positive and "
        "negative affect are separate scales, not the ends of one.",
    )


def _change(before: Sequence[float | None], after: Sequence[float | None]) -> list[float | None]:
    return [None if then is None or now is None else now - then for then, now in zip(before, after, strict=True)]


def _items(data: Data) -> Table:
    items, positive = data.codebook.panas, data.codebook.panas_positive
    before = [[c.pre_panas.items.get(item.lower()) for c in data.conversations] for item in items]
    after = [[c.post_panas.items.get(item.lower()) for c in data.conversations] for item in items]
    parts = {"before": before, "after": after, "change": [*map(_change, before, after)]}
    return table(
        "items",
        "PANAS items",
        words("item", items, "Item"),
        words("side", ("positive" if item in positive else "negative" for item in items), "Side"),
        *(
            column(name, (mean_cell(values, data.mask_below) for values in of_items), name.capitalize(), digits=2)
            for name, of_items in parts.items()
        ),
        caption=f"Means over {counted(len(data.conversations), 'conversation')}, from 1 to 7; n is given where some "
        "are unknown.",
    )


def answers(data: Data) -> Analysis:
    """Answers about the whole conversation: Q1 to Q3, the follow-up, and the ratings of the model's four branches."""
    book, negative = data.codebook, data.codebook.q3_negative
    options = {option.casefold(): option for option in book.follow_up_options}

    def follow_up(conversation: Conversation) -> Sequence[str] | None:
        """Free texts are counted under the options of the codebook or not shown: they may tell who wrote them."""
        given = conversation.wide.follow_up
        if given == ():
            return _NOTHING
        return given and [options.get(" ".join(text.split()).casefold(), "in own words") for text in given]

    def asked(name: str, title: str) -> Table:
        answer = Facet("Answer", partial(_answer, name=name), getattr(book, f"{name}_options"), closed=True)
        return facet_table(data, name, title, [answer], _ANSWERED, of="conversations")

    off = Facet("What felt off", follow_up, book.follow_up_options, closed=True, among=lambda c: c.wide.q3 in negative)
    ratings = {
        entry.label: [c.wide.four_branch.get(branch) for c in data.conversations]
        for branch, entry in book.branches.items()
    }
    return Analysis(
        "answers",
        "Answers about the whole conversation",
        "What were people looking for, and how well did the replies fit?",
        tables=(
            *(asked(name, title) for name, title in _QUESTIONS.items()),
            facet_table(
                data,
                "follow_up",
                "Follow-up: what felt off",
                [off],
                f"Asked only after a negative Q3. {_ANSWERED} Texts that are not codebook options are counted but not "
                "shown.",
                of="conversations",
            ),
            spread_table(
                data,
                "branches",
                "Four Branch ratings of the original model",
                "Branch",
                ratings,
                "Rated from 1 to 7 by the participant.",
            ),
        ),
    )


def _answer(conversation: Conversation, name: str) -> str | tuple[str, ...] | None:
    given: str | tuple[str, ...] | None = getattr(conversation.wide, name)
    return _NOTHING if given == () else given


def topics(data: Data) -> Analysis:
    """Topics with their subtopics, attitudes, and the models that people talked with."""

    def shares(id: str, title: str, facets: Sequence[Facet], caption: str = "that tell") -> Table:
        return facet_table(data, id, title, facets, f"Shares of the conversations {caption}.", of="conversations")

    def category(conversation: Conversation) -> Any:
        return conversation.metadata.get("category")

    def subtopic(topic: str) -> Facet:
        return Facet(
            topic,
            lambda c: c.metadata.get("subtopic"),
            among=lambda c: fold(topic) in map(fold, texts_of(category(c))),
        )

    topic_table = shares("topics", "Topics", [Facet("Topic", category)])
    attitude = Facet("Attitude", lambda c: c.profile and c.profile.conversation_topic_attitude)
    # Of topics that are shown alone: subtopics of a masked one would add up to it.
    subtopics = [subtopic(str(row[0].value)) for row in topic_table.rows]
    return Analysis(
        "topics",
        "Topics and models",
        "What are the conversations about, and with which models?",
        tables=(
            topic_table,
            shares("subtopics", "Subtopics by topic", subtopics, "of a topic that name a subtopic"),
            shares("attitudes", "Attitude to the topic", [attitude]),
            shares("models", "Original models", [Facet("Original model", lambda c: c.metadata.get("model"))]),
        ),
    )
