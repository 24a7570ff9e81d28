"""What the functions of the library return: each shows itself in a notebook and in a terminal, gives its tables as data
frames, and saves itself under a name.

Draws nothing itself: text comes from `reports.analyses`, HTML from `reports.html`, pictures from `figures`.
"""

from __future__ import annotations

import html
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from attunebench.analyses.table import Analysis, Table
from attunebench.errors import DataError, UsageError
from attunebench.files import atomic_write
from attunebench.jsonfile import data_in
from attunebench.scores.table import ScoreTable
from attunebench.text import printable

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from attunebench.analyses.base import Settings
    from attunebench.comparison import Comparison
    from attunebench.figures import Look, Picture, Skipped
    from attunebench.reports import Format
    from attunebench.reports.model import Report

_FORMATS: Mapping[str, Format] = {
    ".txt": "terminal",
    ".md": "markdown",
    ".csv": "csv",
    ".json": "json",
}
_OTHER_PICTURES = (".jpg", ".jpeg", ".eps", ".ps", ".tif", ".tiff", ".gif", ".webp")
_WIDTH = 100
_ON_SCREEN = 110
"""Dots per inch of a figure in a notebook."""


@dataclass(frozen=True, repr=False, eq=False)
class AnalysisResult(Sequence[Analysis]):
    """One or more analyses of scores: an analysis, all of them, a comparison.

    `analyses` is all of it; `on_screen` what fits on a screen, where that is less. `rules` says whose rules the scores
    follow, and `study` are the scores (None: aggregates alone). `brief`: it shows a line for each analysis.
    """

    analyses: tuple[Analysis, ...]
    rules: str
    study: ScoreTable | None
    on_screen: tuple[Analysis, ...] = ()
    brief: bool = False

    def __len__(self) -> int:
        return len(self.analyses)

    def __iter__(self) -> Iterator[Analysis]:
        return iter(self.analyses)

    def __getitem__(self, which: Any) -> Any:
        """By place an `Analysis` (or a tuple of them), by name the result of that one alone; KeyError without it."""
        if not isinstance(which, str):
            return self.analyses[which]
        for analysis in self.analyses:
            if analysis.name == which.replace("_", "-"):
                return AnalysisResult((analysis,), self.rules, self.study)
        raise KeyError(which)

    @property
    def verdict(self) -> str:
        """What the numbers show, in sentences."""
        return " ".join(analysis.shows for analysis in self.analyses if analysis.shows)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What must be read before the numbers."""
        return tuple(dict.fromkeys(warning for analysis in self.analyses for warning in analysis.warnings))

    @cached_property
    def tables(self) -> Mapping[str, Table]:
        """Name → table. A name is the table's id, after that of its analysis where there are several."""
        several = len(self.analyses) > 1
        return {
            f"{analysis.name}.{table.id}" if several else table.id: table
            for analysis in self.analyses
            for table in analysis.tables
        }

    def to_df(self, table: str | None = None) -> pd.DataFrame:
        """A table (by default the first) as a data frame, unrounded: a column for each column, and for its interval, n
        and p where it has them. KeyError names the tables there are; UsageError without a table or without pandas."""
        from attunebench.reports.analyses.machine import table_lines
        from attunebench.scores.frames import require_pandas

        if not self.tables:
            raise UsageError(" ".join(analysis.missing for analysis in self.analyses) or "There is no table.")
        name = next(iter(self.tables)) if table is None else table
        if name not in self.tables:
            raise KeyError(f"There is no table {name!r}; tables are {', '.join(self.tables)}.")
        head, *lines = table_lines(self.tables[name])
        return require_pandas().DataFrame(lines, columns=head)

    @property
    def text(self) -> str:
        """As the commands show it in a terminal."""
        return self._drawn("terminal")

    @property
    def markdown(self) -> str:
        """All of it as GitHub-flavoured markdown."""
        return self._drawn("markdown")

    def save(self, path: str | Path) -> None:
        """Write all of it into a file, as the name ends: .md, .csv, .json or .txt; without an ending into a folder, a
        JSON for each analysis and a CSV for each table."""
        from attunebench.reports.analyses import files

        target = Path(path)
        if target.suffix:
            _write(target, self._drawn(_format_of(target), rows=None))
            return
        for name, text in files(self.analyses, self.rules).items():
            _write(target / name, text)

    def __repr__(self) -> str:
        return self.text.rstrip("\n")

    def _repr_html_(self) -> str:
        from attunebench.reports.html.fragment import analyses_fragment, findings_fragment

        if self.brief:
            return findings_fragment(self.analyses)
        return analyses_fragment(self.on_screen or self.analyses, self.study.groups if self.study else ())

    def _drawn(self, format: Format, *, rows: int | None = 40) -> str:
        from attunebench.reports.analyses import render, render_findings

        if format == "terminal" and rows is not None and self.brief:
            return render_findings(self.analyses, width=_WIDTH, rules=self.rules)
        shown = self.on_screen if format == "terminal" and rows is not None else ()
        return render(shown or self.analyses, format, width=_WIDTH, rows=rows, rules=self.rules)


@dataclass(frozen=True, repr=False, eq=False)
class ComparisonResult(AnalysisResult):
    """Which models differ. `comparison` has the arrays behind the tables: `rankings`, their `pairs`, and `weights`."""

    comparison: Comparison = field(kw_only=True)


@dataclass(frozen=True, repr=False, eq=False)
class ReportResult(AnalysisResult):
    """The scores as tables, and as a page. `report` is what is drawn; `remarks` tells which texts the page lacks."""

    report: Report = field(kw_only=True)
    page: Page = field(kw_only=True)

    @cached_property
    def html(self) -> str:
        """The page of `attune-bench report --format html`, which needs nothing else."""
        return self.page.html

    @property
    def remarks(self) -> tuple[str, ...]:
        return self.page.remarks

    def save(self, path: str | Path) -> None:
        """Write it into a file, as the name ends: .html (the page), .md, .csv, .json or .txt."""
        target = Path(path)
        if target.suffix not in (".html", ".htm"):
            _write(target, self._drawn(_format_of(target), rows=None))
            return
        _write(target, self.html)

    def _repr_html_(self) -> str:
        from attunebench.reports.html.fragment import report_fragment

        return report_fragment(self.report, self.study)

    def _drawn(self, format: Format, *, rows: int | None = 40) -> str:
        from attunebench.reports import draw

        return draw(self.report, format, width=_WIDTH)


class Page:
    """The HTML report of some scores, made when it is first asked for, with the texts of the folders."""

    def __init__(
        self, scores: Mapping[str, Any], file: str, results: Path | None, conversations: Path | None, *, texts: bool
    ) -> None:
        self.scores, self.file, self._texts = scores, file, texts
        self._folders = {"results": results, "conversations": conversations}
        self._remarks: tuple[str, ...] = ()

    @cached_property
    def html(self) -> str:
        from attunebench.reports.html import render_html
        from attunebench.transcripts import FolderTranscripts, folders_of

        if not self._texts:
            return render_html(self.scores, file=self.file)
        metadata = self.scores["metadata"]
        results, conversations = folders_of(metadata, Path(self.file), **self._folders)
        with FolderTranscripts(conversations, results, sha256=metadata.get("ground_truth_sha256")) as evidence:
            page = render_html(self.scores, file=self.file, evidence=evidence)
        self._remarks = evidence.remarks
        return page

    @property
    def remarks(self) -> tuple[str, ...]:
        """Which texts are missing, in sentences."""
        assert self.html  # what its making found
        return self._remarks


@dataclass(frozen=True, repr=False, eq=False)
class FigureResult:
    """Figures for print. `pictures` have `id`, `title`, `figure` (matplotlib) and `caption`; `skipped` says which could
    not be drawn and why; `warnings` are to be read with every figure."""

    pictures: tuple[Picture, ...]
    skipped: tuple[Skipped, ...]
    look: Look
    settings: Settings | None = None
    warnings: tuple[str, ...] = ()
    rules: str = "attunebench"
    intervals: str = ""

    @property
    def figure(self) -> Figure:
        """The (first) figure, of matplotlib. UsageError says why there is none."""
        return self._first.figure

    @property
    def caption(self) -> str:
        """The caption of the (first) figure."""
        return " ".join(self._first.caption)

    @property
    def captions(self) -> str:
        """The captions of all figures as markdown, and which were not drawn."""
        from attunebench.figures import captions

        return captions(self.pictures, self.skipped, self.warnings, self.rules)

    @property
    def methods(self) -> str:
        """What the captions have no room for, as markdown."""
        from attunebench.figures import methods

        return methods(self.pictures, self.settings, self.intervals)

    def save(self, path: str | Path, formats: Sequence[str] = ("svg",)) -> list[Path]:
        """Write the figure into a file that ends in .svg, .pdf or .png; else all of them in these formats into a folder
        of that name, with captions.md and methods.md. DataError before a file of somebody else is replaced."""
        from attunebench.figures import CAPTIONS, METHODS, render, write

        target = Path(path)
        if target.suffix in (".svg", ".pdf", ".png"):
            kind = _figure_format(target.suffix[1:])
            if len(self.pictures) > 1:
                raise UsageError(f"There are {len(self.pictures)} figures; give a folder.")
            return write({target.name: render(self._first, kind, self.look)}, target.parent)
        if target.suffix in _OTHER_PICTURES:
            _figure_format(target.suffix[1:])
        kinds = [_figure_format(one) for one in dict.fromkeys(formats)]
        files = {f"{one.id}.{kind}": render(one, kind, self.look) for one in self.pictures for kind in kinds}
        return write({**files, CAPTIONS: self.captions.encode(), METHODS: self.methods.encode()}, target)

    @property
    def _first(self) -> Picture:
        if not self.pictures:
            raise UsageError(" ".join(self._beside))
        return self.pictures[0]

    @property
    def _beside(self) -> tuple[str, ...]:
        """What is said beside the figures."""
        return (*self.warnings, *(f"{one.name} was not drawn: {one.reason}" for one in self.skipped))

    def __repr__(self) -> str:
        drawn = [f"{one.title}. {' '.join(one.caption)}" for one in self.pictures]
        return "\n\n".join([*self._beside, *drawn])

    def _png(self, picture: Picture) -> bytes:
        from attunebench.figures import Look, render

        return render(picture, "png", Look(self.look.width, _ON_SCREEN))

    def _repr_png_(self) -> bytes | None:
        return self._png(self.pictures[0]) if len(self.pictures) == 1 else None

    def _repr_html_(self) -> str:
        drawn = [
            f'<figure style="margin:0 0 1em"><img alt="{html.escape(one.title)}" style="max-width:100%" '
            f'src="data:image/png;base64,{b64encode(self._png(one)).decode("ascii")}">'
            f"<figcaption>{html.escape(' '.join(one.caption))}</figcaption></figure>"
            for one in self.pictures
        ]
        return "".join([*(f"<p>{html.escape(line)}</p>" for line in self._beside), *drawn])


class ScoreFile(dict[str, Any]):
    """The content of scores.json, as a dict whose keys docs/files.md describes; it shows itself as a leaderboard."""

    @cached_property
    def table(self) -> ScoreStudy:
        """The scores as arrays and data frames, made when it is first asked for."""
        return ScoreStudy.of([self], [])

    def save(self, path: str | Path) -> None:
        """Write scores.json, whole or not at all. DataError where another file is in its place."""
        from attunebench.scores import write_scores

        write_scores(path, cast(Any, self))

    def __repr__(self) -> str:
        shown = [entry for entry in self.get("aggregates") or () if isinstance(entry, Mapping)]
        names = [f"{printable(str(one.get('em_model')))} ({printable(str(one.get('mode')))})" for one in shown]
        more = [f"{len(names) - 6} more"] if len(names) > 6 else []
        return f"<ScoreFile of {len(self.get('conversations', ()))} results: {', '.join([*names[:6], *more])}>"

    def _repr_html_(self) -> str:
        try:
            return self.table._repr_html_()
        except DataError as error:  # what cannot be shown is still a dict
            return f"<p>{html.escape(str(error))}</p>"


@dataclass(frozen=True, repr=False)
class ScoreStudy(ScoreTable):
    """A `ScoreTable` that shows itself as a leaderboard in a notebook. `parts`: the content of its scores files."""

    parts: tuple[Mapping[str, Any], ...] = field(default=(), compare=False)

    @classmethod
    def of(cls, parts: Sequence[Mapping[str, Any]], files: Sequence[str]) -> ScoreStudy:
        """The study of the content of scores files; raises as `scores.loading.score_table`."""
        from attunebench.scores.loading import score_table

        return cls.showing(score_table(cast(Any, parts), files=files), parts)

    @classmethod
    def showing(cls, table: ScoreTable, parts: Sequence[Mapping[str, Any]] = ()) -> ScoreStudy:
        """The table as one that shows itself."""
        if isinstance(table, cls):
            return table
        return cls(**{one.name: getattr(table, one.name) for one in fields(table)}, parts=tuple(parts))

    def _repr_html_(self) -> str:
        from attunebench.reports.html.fragment import study_fragment

        return study_fragment(self)


def _format_of(path: Path) -> Format:
    if path.suffix not in _FORMATS:
        raise UsageError(f"{path.name} must end in one of {', '.join(_FORMATS)}, which selects the format.")
    return _FORMATS[path.suffix]


def _figure_format(ending: str) -> Literal["svg", "png", "pdf"]:
    if ending not in ("svg", "png", "pdf"):
        raise UsageError(f"A figure is written as svg, pdf or png, not as {ending!r}.")
    return ending  # type: ignore[return-value]


def _write(path: Path, text: str) -> None:
    """DataError where the file cannot be written, or holds data that no text can be made from again."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise DataError(f"{path} is a folder; name a file in it.")
        if kind := data_in(path):
            raise DataError(f"{path} is {kind} and was not overwritten; name another file.")
        with atomic_write(path) as file:
            file.write(text.encode())
    except OSError as error:
        raise DataError(f"{path} cannot be written ({error.strerror or error}); name another file.") from None
