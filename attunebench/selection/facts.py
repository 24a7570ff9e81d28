"""Facts about the scored conversations: where they come from, in what two sources differ, and what can be chosen by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from attunebench.analyses.table import Analysis, column, counts, table, words
from attunebench.analyses.verdicts import counted, listed
from attunebench.errors import DataError, UsageError
from attunebench.scores import GroundTruthEntry
from attunebench.scores.table import ScoreTable
from attunebench.selection.conditions import Comparison, Condition, choose
from attunebench.selection.fields import Fields
from attunebench.text import printable

_BRIEF = 10
"""So many values of a field are shown where the list is to be brief: ids and subtopics can be hundreds."""
_NAME = words("field", meaning="Its name in --where.")
_EXAMPLE = words("example", (), "for example", "An expression for --where.")
_KNOWN = (
    counts("n", (), "known", "Conversations with a value."),
    counts("participants", (), "people", "Participants of these conversations."),
)
_RANGE = (
    column("least", digits=1),
    column("median", meaning="Over conversations.", digits=1),
    column("largest", digits=1),
)
_VALUES = (words("value"), counts("n", (), "conversations"), counts("participants", (), "people"))
_LABELS = ("pre_panas", "post_panas", "wide")
_LABELS_OF_TURNS = ("turnNumber", "tags", "comparisons", "observed", "preferred")


@dataclass(frozen=True, slots=True)
class Facts:
    """The study over the conversations of which facts are there, with these facts.

    `warnings` concern the scores (other labels), `notes` who is left out and which facts were taken.
    """

    study: ScoreTable
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def entries(self) -> tuple[GroundTruthEntry, ...]:
        """One for each conversation of the study, in its order."""
        return tuple(self.study.ground_truth[conversation] for conversation in self.study.ids)


def facts_of(study: ScoreTable, given: Sequence[GroundTruthEntry] | None = None, *, folder: str = "") -> Facts:
    """The facts that the scores hold, or those `given` (of the conversations in `folder`) in their place.

    Facts that are given take the place of all that the scores hold, so that a corrected profile counts; a scored
    conversation that is not among them is left out. UsageError: none are given and the scores hold none, as those of
    an older version. DataError: none of those given was scored.
    """
    scored = study.ground_truth
    if given is None and not scored:
        raise UsageError(
            "These scores keep no facts about the conversations (they are of an older version); give the "
            "conversations with -d DIR, or score the results again with `attune-bench score`."
        )
    entries = scored if given is None else {entry["conversationId"]: entry for entry in given}
    kept = [one for one in study.ids if one in entries]
    if not kept and given is not None:
        raise DataError(
            f"None of the {counted(len(entries), 'conversation')} in {folder} was scored; give the folder of those "
            "that were."
        )
    facts = Facts(replace(study, ground_truth=dict(entries)).with_conversations(kept))
    left_out = [scored[one]["source_file"] if one in scored else one for one in study.ids if one not in entries]
    why = "the scores keep no facts about them" if given is None else f"not in {folder}"
    unscored = [entry["source_file"] for one, entry in entries.items() if one not in study.ids]
    both = [(entries[one], scored[one]) for one in kept if one in scored]
    relabelled = [now["source_file"] for now, then in both if _labels(now) != _labels(then)]
    notes = {
        f"{counted(len(left_out), 'scored conversation')} left out, {why}": left_out,
        f"{counted(len(unscored), 'conversation')} in {folder} not scored": [] if given is None else unscored,
    }
    warning = (
        f"The labels of {counted(len(relabelled), 'conversation')} in {folder} differ from those that were scored: "
        f"{_names(relabelled)}. The scores use the old labels; score the results again."
    )
    said = tuple(f"{note}: {_names(names)}." for note, names in notes.items() if names)
    return replace(facts, warnings=(warning,) if relabelled else (), notes=said)


def _labels(entry: Any) -> list[Any]:
    """The labels alone. Letters for yes and no stand for other questions in a file of another version."""
    turns = [[turn[name] for name in _LABELS_OF_TURNS] for turn in entry["turns"]]
    return [*(entry[name] for name in _LABELS), turns]


def _names(names: Sequence[str]) -> str:
    return listed([printable(name, 80) for name in names], most=4)


def fields_listed(fields: Fields, *, brief: bool = False) -> Analysis:
    """Tables of the fields of which anything is known, with an expression for each, and of the values of texts.

    `brief` shows the most frequent values of a field alone.
    """
    texts, numbers = [], []
    values: list[tuple[str | int | None, ...]] = []
    for field in fields.listed:
        known = _sizes(fields, Comparison(field, "known"))
        if found := field.numbers:
            middle = median(found)
            example = Comparison(field, ">=", (middle,)).text()
            numbers.append((field.name, *known, min(found), middle, max(found), example))
        elif known[0]:
            shown = list(field.counts())
            texts.append((field.name, *known, Comparison(field, "=", (*shown, "")[:1]).text()))
            for value in shown[: _BRIEF if brief else None]:
                name = f"{value} ({field.bands[value]})" if value in field.bands else value
                values.append((field.name, name, *_sizes(fields, Comparison(field, "=", (value,)))))
            if brief and len(shown) > _BRIEF:
                values.append((field.name, f"… {len(shown) - _BRIEF} more", None, None))
    where = f"known of how many of {counted(len(fields.entries), 'conversation')}"
    more = "--full or another --format shows all values." if brief else ""
    return Analysis(
        "fields",
        "Fields for selecting conversations",
        "What is known about these conversations, and how often?",
        cannot="Diagnoses are self-reported; a band of a screening scale is not a diagnosis.",
        tables=(
            table("texts", f"Texts and lists: {where}", _NAME, *_KNOWN, _EXAMPLE, rows=texts),
            table("numbers", f"Numbers: {where}", _NAME, *_KNOWN, *_RANGE, _EXAMPLE, rows=numbers),
            table("values", "Values of texts and lists", _NAME, *_VALUES, rows=values, caption=more),
        ),
        notes=("Thirds are computed over participants for facts about a person, otherwise over conversations.",),
    )


def _sizes(fields: Fields, condition: Condition) -> tuple[int, int]:
    """How many conversations, and of how many participants, a condition holds of."""
    selection = choose(fields, condition)
    return len(selection.chosen), selection.participants["chosen"]
