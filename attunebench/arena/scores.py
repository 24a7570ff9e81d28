"""The file of an arena's scores, arena-scores.json: its analyses, and what a reader must know of the arena."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from attunebench import coerce
from attunebench.analyses.table import Analysis
from attunebench.arena.folder import Arena
from attunebench.arena.objects import errors_at
from attunebench.arena.sampling import ArenaSettings
from attunebench.arena.table import ALL_PEOPLE, PEOPLE, table_of
from attunebench.errors import DataError
from attunebench.jsonfile import read_json
from attunebench.reports.analyses.machine import read_analyses, render_json
from attunebench.scores.table import Group
from attunebench.text import counted

_COUNTED = {"history": "histories", "pair": "pairs", "verdict": "verdicts"}
_RATERS = {"person": "people", "judge": "judges"}


class About(BaseModel):
    """What was scored, and how. `folder`: the arena's, from the folder of the file; `authors`: the kind of each."""

    model_config = ConfigDict(frozen=True)

    folder: str = ""
    counts: Mapping[str, int] = Field(default_factory=dict)
    authors: Mapping[str, str] = Field(default_factory=dict)
    settings: Mapping[str, float | int | str] = Field(default_factory=dict)
    made: Mapping[str, Any] = Field(default_factory=dict)
    problems: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ArenaScores:
    """The content of a scores file of an arena."""

    analyses: Sequence[Analysis]
    about: About

    @property
    def groups(self) -> list[Group]:
        """The authors that have colours of their own, people after the models. People together look as they do as
        raters."""
        kinds = [(name, kind) for name, kind in self.about.authors.items() if name not in (PEOPLE, ALL_PEOPLE)]
        return [Group("human" if kind == "human" else "arena", author, "", author) for author, kind in kinds]

    @property
    def sample(self) -> str:
        """ "300 histories, 2,700 pairs, 40,500 verdicts of 15 people and 3 judges", for captions."""
        known = self.about.counts
        counts = [counted(known[many], one, many) for one, many in _COUNTED.items() if many in known]
        raters = [counted(known[many], one, many) for one, many in _RATERS.items() if known.get(many)]
        return ", ".join(counts) + (f" of {' and '.join(raters)}" if counts and raters else "")

    @property
    def intervals(self) -> str:
        """How intervals were made, for notes."""
        level, resamples = (coerce.amount(self.about.settings.get(name)) for name in ("level", "resamples"))
        units = self.about.settings.get("units", "histories")
        over = f"{units} resampled" if resamples is None else f"{resamples:,.0f} resamples of {units}"
        return f"{100 * (0.95 if level is None else level):g} % percentile bootstrap intervals, {over}"

    def json(self) -> str:
        """As it stands in the file."""
        return render_json(self.analyses, whole=True, arena=self.about.model_dump(exclude_defaults=True))


def counts_of(arena: Arena) -> dict[str, int]:
    """How much there is of each: histories and authors that are compared, pairs, verdicts, people and judges."""
    table = table_of(arena)
    judges = int(table.judges.sum())
    return {
        "histories": len({pair.history for pair in arena.pairs.values()}),
        "authors": len({author for pair in arena.pairs.values() for author in (pair.left, pair.right)}),
        "pairs": len(arena.pairs),
        "verdicts": len(table),
        "people": len(table.raters) - judges,
        "judges": judges,
    }


def about_of(arena: Arena, settings: ArenaSettings, folder: Path, output: Path) -> About:
    """What the file at `output` says of the arena in `folder`."""
    table = table_of(arena)
    return About(
        folder=Path(os.path.relpath(folder.resolve(), output.resolve().parent)).as_posix(),
        counts=counts_of(arena),
        authors=dict(zip(table.authors, table.kinds, strict=True)),
        settings={**asdict(settings), "units": table.unit_names[1]},
        made=arena.made,
        problems=arena.problems,
    )


def read_arena_scores(path: Path) -> ArenaScores:
    """The scores in a file that `arena score` wrote. Raises DataError where it holds none."""
    document, _ = read_json(path)
    if not isinstance(document, Mapping) or not isinstance(document.get("arena"), Mapping):
        raise DataError(f"{path} contains no scores of an arena; `attune-bench arena score` writes them.")
    with errors_at(f"{path}, arena"):
        about = About.model_validate(document["arena"])
    return ArenaScores(read_analyses(document, str(path)), about)
