"""`attune-bench stats`: what scores hold about a model, looked up.

Parses, reads the scores, looks where result files lie and writes; decides nothing about what is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from attunebench.cli.arguments import (
    OUTPUT,
    ModelsOption,
    ScoresFilesArgument,
    ScoresFilesOption,
    analysis_options,
    analysis_settings,
    scores_and_models,
)
from attunebench.cli.emitting import emit_analyses, is_brief, terminal_width, warn, working
from attunebench.cli.options import flag, with_options
from attunebench.errors import UsageError
from attunebench.text import printable

if TYPE_CHECKING:
    from attunebench.analyses.table import Analysis, Table
    from attunebench.scores.table import ScoreTable

_ROOM_FOR_QUARTILES = 110
_HOW = analysis_options("correction", "cluster", "alpha", "power", "resamples", "seed")
_QUARTILES = ("quarter", "median", "three_quarters")
_BEFORE_QUARTILES = f"Median and quartiles: --full, another --format or {_ROOM_FOR_QUARTILES} columns."
_BEFORE_ROWS = "Best and worst conversations of the other metrics: --full or another --format."
_BEFORE_MODELS = "Everything about one model: --model NAME. Everything about all: --full or another --format."


@with_options(how=_HOW, shown=OUTPUT)
def stats(
    files: ScoresFilesArgument = None,
    scores: ScoresFilesOption = None,
    models: ModelsOption = None,
    results: Annotated[
        Path | None,
        flag("The results folder, if it has moved.", "--results", "-r", metavar="DIR", shown="the one that was scored"),
    ] = None,
    *,
    how: dict[str, Any],
    shown: dict[str, Any],
) -> None:
    """Describe one model: every metric with n, mean, interval and spread; best and worst conversations with their
    result files; rates of answered, repaired and refused calls; cost, time and tokens; providers and settings.

    Works offline and calls no model.
    """

    from attunebench.analyses.stats import model_stats
    from attunebench.scores.loading import load_scores

    if results is not None and not results.exists():
        raise UsageError(f"There is no folder {results}; name the one with the result files.")
    sources, names = scores_and_models(files, scores, models)
    settings, output = analysis_settings(how), shown["output"]
    with working("reading"):
        study = load_scores(sources)
        places = _Places(study, results)
        analyses = model_stats(study, settings, names, places)
    brief = is_brief(**shown)
    if brief:
        analyses = _first_screen(analyses, terminal_width(output), places.folders, asked=bool(names))
    emit_analyses(analyses, **shown, rules=study.rules, protect=sources)
    places.tell()


class _Places:
    """Where result files are: in the folder that is given, else in those that the scores were made from."""

    def __init__(self, study: ScoreTable, results: Path | None) -> None:
        from attunebench.transcripts import folders_of

        named = [
            folders_of(metadata, Path(file), results=results, conversations=None)[0]
            for metadata, file in zip(study.metadata, study.files, strict=True)
        ]
        self.folders = [folder.parent if folder is not None and folder.is_file() else folder for folder in named]
        self._gone: dict[Path, set[str]] = {}

    def __call__(self, source: int, name: str) -> str:
        """The place of a result file; a name that leads out of its folder is shown as it is."""
        from attunebench.analyses.stats import as_named

        folder = self.folders[source]
        if folder is None:
            return as_named(source, name)
        path = folder / name
        try:
            target = path.resolve()
            if not target.is_relative_to(folder.resolve()):
                return as_named(source, name)
            if not target.is_file():
                self._gone.setdefault(folder, set()).add(name)
            return printable(str(path))
        except (OSError, ValueError):
            return as_named(source, name)

    def tell(self) -> None:
        """Say which folders lack result files that were named."""

        for folder, names in self._gone.items():
            warn(f"{len(names)} of these result files are not in {folder}; give their folder with --results DIR.")


def _first_screen(
    analyses: Sequence[Analysis], width: int, folders: Sequence[Path | None], *, asked: bool
) -> tuple[Analysis, ...]:
    """What a terminal shows: the overview where there are several models, else the model without the finest detail."""
    overview, *each = analyses
    if len(each) > 1 and not asked:
        return (replace(overview, notes=(*overview.notes, _BEFORE_MODELS)),)
    narrow = width < _ROOM_FOR_QUARTILES
    hidden = {"id", *(_QUARTILES if narrow else ())}
    shown = [_brief(analysis, hidden, (_BEFORE_QUARTILES,) if narrow else (), folders) for analysis in each]
    return (overview, *shown) if len(each) > 1 else tuple(shown)


def _brief(analysis: Analysis, hidden: set[str], notes: tuple[str, ...], folders: Sequence[Path | None]) -> Analysis:
    tables = []
    for table in analysis.tables:
        if table.id == "extremes":
            table = _first_extremes(table, folders)
        # Cost has a median of its own, and room for it.
        tables.append(_without(table, hidden if table.columns[0].id == "metric" else set()))
    return replace(analysis, tables=tuple(tables), notes=(*analysis.notes, *notes))


def _first_extremes(table: Table, folders: Sequence[Path | None]) -> Table:
    """Those of the first metric; the folder that all result files are in is named once, so that names stay whole."""
    lead = table.rows[0][0].value
    rows = [row for row in table.rows if row[0].value == lead]
    notes = [_BEFORE_ROWS] if len(rows) < len(table.rows) else []
    hidden = {"metric"}
    for folder in filter(None, folders):
        if all(str(row[-1].value).startswith(f"{folder}/") for row in rows):
            names = [str(row[-1].value).removeprefix(f"{folder}/") for row in rows]
            rows = [(*row[:-1], replace(row[-1], value=name)) for row, name in zip(rows, names, strict=True)]
            notes.insert(0, f"The result files are in {folder}.")
            hidden.add("conversation")  # with whose id the name of a result file begins
            break
    title = f"{table.title}, {lead}"
    return _without(replace(table, title=title, rows=tuple(rows), notes=tuple(notes)), hidden)


def _without(table: Table, hidden: set[str]) -> Table:
    kept = [place for place, column in enumerate(table.columns) if column.id not in hidden]
    return replace(
        table,
        columns=tuple(table.columns[place] for place in kept),
        rows=tuple(tuple(row[place] for place in kept) for row in table.rows),
    )
