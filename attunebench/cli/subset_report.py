"""`attune-bench subset-report`: scores over the conversations that match, and beside those that do not.

Parses, reads the scores and the facts, chooses, makes the report and writes; decides nothing about what it says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from attunebench.cli.arguments import (
    FOLDER,
    OUTPUT,
    ModelsOption,
    ScoresFilesArgument,
    ScoresFilesOption,
    SkipInvalidOption,
    analysis_options,
    analysis_settings,
    scores_and_models,
)
from attunebench.cli.emitting import emit_analyses, is_brief, working
from attunebench.cli.filtering import FILTER_OPTIONS, FilterCommand, condition_of
from attunebench.cli.options import flag, option_named, with_options
from attunebench.errors import DataError, UsageError

if TYPE_CHECKING:
    from attunebench.analyses.base import Settings
    from attunebench.analyses.table import Analysis
    from attunebench.scores.table import ScoreTable
    from attunebench.selection import Fields, Selection
    from attunebench.selection.facts import Facts

_ROWS = 40


COMMAND_CLASS = FilterCommand


@with_options(how=analysis_options(), shown=OUTPUT, filters=FILTER_OPTIONS)
def subset_report(
    files: ScoresFilesArgument = None,
    scores: ScoresFilesOption = None,
    models: ModelsOption = None,
    conversations: Annotated[
        Path | None,
        flag("Folder of the conversations, to read facts from it.", *FOLDER, shown="facts in the scores"),
    ] = None,
    where: Annotated[
        list[str] | None,
        flag(
            'Conversations that match this expression: "who_5 < 13 and not diagnosis contains adhd". Repeat it to '
            "require several.",
            metavar="EXPR",
        ),
    ] = None,
    compare: Annotated[bool, flag("Compare with the other conversations.", "--compare")] = False,
    list_fields: Annotated[bool, flag("List the available fields with counts and exit.", "--list-fields")] = False,
    skip_invalid: SkipInvalidOption = False,
    *,
    how: dict[str, Any],
    shown: dict[str, Any],
    filters: Mapping[str, Sequence[str] | None],
) -> None:
    """Report scores over conversations selected by self-reported facts, topic, scales, mood or answers. --compare
    compares them with the rest.

    Works offline and calls no model.
    """
    from attunebench.comparison.choosing import chosen_groups
    from attunebench.scores.loading import load_scores
    from attunebench.selection.screen import on_screen

    sources, names = scores_and_models(files, scores, models)
    settings = analysis_settings(how)
    chosen = {option_named(name): values for name, values in filters.items() if values}
    study = chosen_groups(load_scores(sources), settings, names)
    facts = _facts(study, conversations, skip_invalid=skip_invalid)
    brief = is_brief(**shown)
    if list_fields:
        made: Sequence[Analysis] = (_listing(facts, brief=brief, filtered=bool(chosen or where)),)
    else:
        made = _made(facts, _selected(facts, chosen, where or (), compare=compare), settings, compare=compare)
    shown["full"] |= list_fields
    made = on_screen(made) if brief and compare else made
    emit_analyses(made, **shown, rows=_ROWS, rules=study.rules, protect=sources)


def _facts(study: ScoreTable, folder: Path | None, *, skip_invalid: bool) -> Facts:
    from attunebench.cli.loading import load
    from attunebench.scorer.truth import truth_entry
    from attunebench.selection.facts import facts_of

    if folder is None:
        return facts_of(study)
    loaded, _ = load(folder, None, skip_invalid=skip_invalid, quiet=True)
    return facts_of(study, [truth_entry(conversation) for conversation in loaded], folder=str(folder))


def _selected(facts: Facts, filters: Mapping[str, Sequence[str]], where: Sequence[str], *, compare: bool) -> Selection:
    from attunebench.selection import EVERYTHING, choose, fields_of

    fields = fields_of(facts.entries)
    condition = condition_of(filters, where, fields)
    if compare and condition == EVERYTHING:
        raise UsageError(
            "--compare requires a subset; give an option such as --diagnosis or --where. --list-fields lists the "
            "fields."
        )
    selection = choose(fields, condition)
    if not selection.chosen:
        raise DataError(_nothing(fields, selection))
    return selection


def _nothing(fields: Fields, selection: Selection) -> str:
    """That nothing matches, and which of several conditions is to blame."""
    from attunebench.selection.conditions import Joined, choose, fields_in

    condition = selection.condition
    parts = condition.parts if isinstance(condition, Joined) and condition.word == "and" else ()
    counts = [f"{part.text()} ({len(choose(fields, part).chosen)})" for part in parts]
    alone = f" Matches of each condition alone: {', '.join(counts)}." if counts else ""
    lacking = ", ".join(f"{name} in {count}" for name, count in selection.lacking.items())
    unknown = f", and {len(selection.unknown)} have missing values ({lacking})" if lacking else ""
    numbers = {field.name: field.numbers for field in fields_in(condition) if field.numbers}
    ranges = "".join(f" {name} is {min(found):g} to {max(found):g} here." for name, found in numbers.items())
    return (
        f"No conversation matches: {condition.text()}. {len(selection.others)} do not{unknown}.{alone}{ranges} Drop or "
        "widen an option; --list-fields lists the fields."
    )


def _made(facts: Facts, selection: Selection, settings: Settings, *, compare: bool) -> Sequence[Analysis]:
    from attunebench.selection.report import subset_report

    with working("computing"):
        head, *rest = subset_report(facts.study, selection, settings, compare=compare)
    # Who is left out, and whose facts count, must be read before the numbers.
    warnings = (*facts.warnings, *facts.notes, *head.warnings)
    return (replace(head, warnings=warnings), *rest)


def _listing(facts: Facts, *, brief: bool, filtered: bool) -> Analysis:
    from attunebench.selection import fields_of
    from attunebench.selection.facts import fields_listed

    found = fields_listed(fields_of(facts.entries), brief=brief)
    all_of_them = ("Fields of all conversations; filters have no effect here.",) if filtered else ()
    return replace(found, warnings=facts.warnings, notes=(*facts.notes, *found.notes, *all_of_them))
