"""Options that choose conversations, each short for an expression that `--where` takes; and those that are gone.

Made of tables: no meaning of a field is known here.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attunebench.cli.options import PanelCommand, parameter
from attunebench.errors import UsageError

if TYPE_CHECKING:
    from attunebench.selection import Condition, Fields

_TEXTS = {
    "diagnosis": "Self-reported diagnosis, by any part of its name.",
    "age-range": "Age range, as named in the data.",
    "gender": "Gender.",
    "country": "Country.",
    "education": "Highest education.",
    "participant": "ID of the participant.",
    "topic": "Topic category.",
    "attitude": "Attitude towards the topic.",
    "om-model": "The original model (OM) that the person talked with.",
    "mood-change": "Change in PANAS: better, worse, mixed or unchanged.",
}
_T = "T score; mild from 55, moderate from 60, severe from 70."
_NUMBERS = {
    "turns": "Number of messages that the person wrote.",
    "who5": "Well-being (WHO-5, 0–25); below 13 is poor.",
    "aq10": "Autistic traits (AQ-10, 0–10); 6 and above is screen-positive.",
    "asrs6": "ADHD traits (ASRS-6); 4 and above of 6, or 14 and above of 24, is screen-positive.",
    "promis-anxiety-t": f"Anxiety (PROMIS), {_T}",
    "promis-depression-t": f"Depression (PROMIS), {_T}",
    "promis-sleep-t": f"Sleep disturbance (PROMIS), {_T}",
}
_BOUNDS = {"min": ">=", "max": "<=", "below": "<"}


def _tests(texts: Iterable[str], numbers: Iterable[str], bounds: Mapping[str, str]) -> dict[str, str]:
    """Option → the beginning of its expression, which the value ends. A field is called as its options are."""
    operators = {stem: "contains" if stem == "diagnosis" else "=" for stem in texts}
    tests = {f"--{stem}": f"{stem.replace('-', '_')} {operator}" for stem, operator in operators.items()}
    for stem in numbers:
        tests |= {f"--{stem}-{bound}": f"{stem.replace('-', '_')} {sign}" for bound, sign in bounds.items()}
    return tests


FILTERS: Mapping[str, str] = _tests(_TEXTS, _NUMBERS, _BOUNDS)
"""Option → the beginning of its expression."""

_PROMIS = [f"promis-{what}" for what in ("anxiety", "depression", "sleep")]
_TIPI = [f"tipi-{trait}" for trait in ("extraversion", "agreeableness", "conscientiousness", "stability", "openness")]
_BEFORE, _CHANGE = ([f"panas-{side}-{when}" for side in ("positive", "negative")] for when in ("before", "change"))
_EARLIER_TEXTS = (
    *("diagnosis", "gender", "country", "education", "participant", "topic", "attitude", "om-model", "age", "turns"),
    *("diagnosis-group", "english", "work", "subtopic", "conversation-id", "file", "q1", "q2", "q3"),
    *(f"{stem}-band" for stem in ("who5", "aq10", "asrs6", *_PROMIS)),
    *(f"{stem}-third" for stem in (*_TIPI, *_BEFORE)),
)
_EARLIER = _tests(_EARLIER_TEXTS, [*_NUMBERS, *_PROMIS, *_TIPI, *_BEFORE, *_CHANGE], {**_BOUNDS, "above": ">"})
REMOVED: Mapping[str, str] = {
    **{option: test for option, test in _EARLIER.items() if option not in FILTERS},
    **{f"--not-{stem}": f"not {_EARLIER[f'--{stem}']}" for stem in _EARLIER_TEXTS},
}
"""Option of an earlier version → the beginning of the expression that does the same."""


def filter_rows() -> Iterable[tuple[str, str, str]]:
    """For `--help` and the docs: the options of a field, what they take, and their expressions."""
    for stem, meaning in _TEXTS.items():
        yield f"--{stem} TEXT", meaning, f"{FILTERS[f'--{stem}']} TEXT"
    for stem, meaning in _NUMBERS.items():
        usage = f"--{stem}-{{{','.join(_BOUNDS)}}} N"
        yield usage, meaning, f"{FILTERS[f'--{stem}-min']} N, {', '.join([*_BOUNDS.values()][1:])}"


def condition_of(filters: Mapping[str, Sequence[str]], where: Sequence[str], fields: Fields) -> Condition:
    """What options and `--where` choose: any of the values of an option, all options, and all expressions."""
    from attunebench.selection import parse_where
    from attunebench.selection.conditions import joined, quoted

    parts = [
        joined("or", [parse_where(f"{FILTERS[flag]} {quoted(value)}", fields, option=flag) for value in values])
        for flag, values in filters.items()
    ]
    return joined("and", [*parts, *(parse_where(text, fields) for text in where)])


FILTER_OPTIONS = [
    parameter(flag.removeprefix("--").replace("-", "_"), Annotated[list[str] | None, typer.Option(flag)])
    for flag in FILTERS
]


class FilterCommand(PanelCommand):
    """A command `with_filters`: its help shows them apart, and an option that is gone names its expression."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As of any command. UsageError at an option that is gone."""
        for place, word in enumerate(args):
            flag, _, value = word.partition("=")
            if flag in REMOVED:
                value = value or next(iter(args[place + 1 :]), "…")
                expression = shlex.quote(f"{REMOVED[flag]} {_typed(value)}")
                raise UsageError(f"{flag} was removed; use --where {expression} instead.")
        return list(super().parse_args(ctx, args))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments and options, then the filters, a line for each field."""
        super().format_options(ctx, formatter)
        with formatter.section("Filters"):
            formatter.write_text(
                "A repeated option matches any of its values; different options must all match. min and max include N, "
                "below does not. Conversations with a missing value are on neither side and are counted. Use --where "
                "for other fields and for not and or; --list-fields lists the fields."
            )
            formatter.write_dl([(usage, meaning) for usage, meaning, _ in filter_rows()])

    def get_shown(self, ctx: Any) -> list[Any]:
        """Without the filters, which have a section of their own."""
        return [one for one in self.get_params(ctx) if not FILTERS.keys() & {*one.opts}]


def _typed(value: str) -> str:
    """A value as an expression takes it: a number as it is, a text in quotes."""
    from attunebench.selection.conditions import quoted

    return value if value.replace(".", "", 1).lstrip("-").isdigit() else quoted(value)
