"""A metric's identity card. Knows no metric; every family module makes its cards, `registry` gathers them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

README = "README of the published benchmark"
PUBLIC_CODE = "another public implementation"
OURS = "our choice"
DRAFT_AGAINST = {
    "original": ("original reply", "the reply of the conversation"),
    "alternate": ("alternate reply", "the improved reply"),
    "human": ("person's reply", "the reply that a person edited"),
    "max": ("closest reply", "the closest of the three candidate replies"),
}
"""What a model's own reply is held against: variant → its label, and the text in words."""

Group = Literal["turn", "conversation", "pillar", "draft", "diagnostic", "released"]
Status = Literal["canonical", "alongside", "diagnostic", "released"]
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric's identity card.

    `group` is where reports show it: turn-by-turn, conversation-wide, pillars, draft, diagnostics; "released" is what
    only the released scorer computes, as is the status of that name. `level` is where
    it is computed: per turn (its conversation value is the mean of its defined turn values) or per conversation.
    `higher_is_better` is None where neither end is good: a difference, or a property of the data. `chance` is the score
    of blind guessing where that is a constant of the metric, else None. `optional` metrics are measured on
    request alone. `proportion`: it counts right and wrong (or yes and no), so that Wilson's interval holds for it.
    `rounds_down`: it is shown as 1 only where nothing is missing.
    """

    id: str
    label: str
    meaning: str
    definition: str
    group: Group
    status: Status
    level: Literal["turn", "conversation"]
    source: str = README
    low: float = 0.0
    high: float = 1.0
    unit: str = "share"
    higher_is_better: bool | None = True
    chance: float | None = None
    optional: bool = False
    proportion: bool = False
    rounds_down: bool = False


class CardMaker:
    """Makes cards that have `fields` in common, and puts them behind those of the same family."""

    def __init__(self, family: list[Metric], **fields: Any) -> None:
        self._family = family
        self._fields = fields

    def __call__(self, metric_id: str, label: str, meaning: str, definition: str, **fields: Any) -> None:
        self._family.append(Metric(metric_id, label, meaning, definition, **{**self._fields, **fields}))

    def of(self, label: str, meaning: str, **fields: Any) -> Callable[[Function], Function]:
        """Makes the card of a function: its name is the id, the first paragraph of its docstring the definition."""

        def make(function: Function) -> Function:
            definition = (function.__doc__ or "").partition("\n\n")[0]
            self(function.__name__, label, meaning, " ".join(definition.split()), **fields)
            return function

        return make
