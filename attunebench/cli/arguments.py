"""Spellings that the parser does not know by itself, and the options that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from attunebench.errors import UsageError
from attunebench.text import printable

T = TypeVar("T", bound=str)

_MODE_WORDS = frozenset({"all", "default", "verbose", "omniscient", "verbose_omniscient"})


def gather_modes(words: Sequence[str]) -> list[str]:
    """Let `--modes default verbose` stand for `--modes default,verbose`, wherever it stands.

    The word after `--modes` (or behind `--modes=`) is its value in any case; further words are taken as long as they
    are mode names or comma lists of them. A word that is none is left for the parser.
    """
    gathered: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        gathered.append(word)
        if word == "--":
            return gathered + rest
        if word == "--modes" and rest and not rest[0].startswith("-"):
            gathered.append(rest.pop(0))
        elif not word.startswith("--modes="):
            continue
        while rest and _names_modes(rest[0]):
            gathered[-1] += f",{rest.pop(0)}"
    return gathered


def _names_modes(word: str) -> bool:
    parts = [part.strip() for part in word.split(",") if part.strip()]
    return bool(parts) and all(part.lower() in _MODE_WORDS for part in parts)


def one_folder(positional: Path | None, option: Path | None, what: str = "conversations folder") -> Path:
    """A folder that may be given by position or by option. Raises UsageError where it is missing or given twice."""
    if positional is not None and option is not None and positional != option:
        raise UsageError(f"The {what} is given twice ({positional} and {option}); give it once.")
    folder = positional or option
    if folder is None:
        raise UsageError(f"The {what} is missing; give it as an argument or with --conversations.")
    return folder


def comma_list(values: Sequence[str] | None) -> tuple[str, ...]:
    """The words of a repeated option, each possibly a comma list; order kept, duplicates dropped."""
    words = (word.strip() for value in values or () for word in value.split(","))
    return tuple(dict.fromkeys(word for word in words if word))


def one_of(word: str, choices: Sequence[T], what: str) -> T:
    """The choice of that name. Raises UsageError where there is none; `what` says of what."""
    chosen = next((choice for choice in choices if choice == word), None)
    if chosen is None:
        raise UsageError(f"Unknown {what} {printable(word)}; choose one of {', '.join(choices)}.")
    return chosen


class Format(str, Enum):
    """How tables are written."""

    terminal = "terminal"
    markdown = "markdown"
    csv = "csv"
    json = "json"


class Correction(str, Enum):
    """How p-values of several comparisons are corrected."""

    holm = "holm"
    bh = "bh"
    maxt = "maxt"


def scores_files(positional: Sequence[Path] | None, option: Sequence[Path] | None) -> list[Path]:
    """The scores files of a command that takes several, by position, by option or both; scores.json without any."""
    return list(dict.fromkeys([*(positional or ()), *(option or ())])) or [Path("scores.json")]


def files_and_models(files: Sequence[Path], models: tuple[str, ...]) -> tuple[list[Path], tuple[str, ...]]:
    """Words behind `--models A` that are no files are further models: `--models A B`."""
    if not models:
        return list(files), models
    further = [file for file in files if file.suffix != ".json" and not file.exists()]
    return [file for file in files if file not in further], (*models, *map(str, further))


def by_participant(cluster: str | None) -> bool:
    """Whether `--cluster participant` was given; UsageError for another cluster."""
    if cluster not in (None, "participant"):
        raise UsageError(f"There is no cluster {cluster}; `participant` is the one there is.")
    return cluster is not None


ConversationsOption = Annotated[
    Path | None,
    typer.Option("--conversations", "--ground-truth", "-d", help="The same folder, as an option.", show_default=False),
]
GroundTruthOption = Annotated[
    Path | None,
    typer.Option(
        "--ground-truth",
        "--conversations",
        "-d",
        help="Folder of the conversations with their labels.  [required]",
        show_default=False,
    ),
]
RanConversationsOption = Annotated[
    Path | None,
    typer.Option(
        "--conversations",
        "--ground-truth",
        "-d",
        help="Folder of the conversations that were run.  [required]",
        show_default=False,
    ),
]
ResultsOption = Annotated[Path, typer.Option("--results", "-r", help="Folder of the result files.")]
ScoresFilesArgument = Annotated[
    list[Path] | None,
    typer.Argument(metavar="FILE…", help="Files that `score` wrote.", show_default="scores.json"),
]
ScoresFilesOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--scores",
        "-s",
        metavar="FILE",
        help="A file that `score` wrote; repeat it for models in several files.",
        show_default="scores.json",
    ),
]
ModeOption = Annotated[
    str | None,
    typer.Option("--mode", metavar="MODE", help="The mode to look at.", show_default="the primary one"),
]
CorrectionOption = Annotated[
    Correction | None,
    typer.Option(
        "--correction",
        help="How p-values of several comparisons are corrected: holm (for claims), maxt (sharper, same guarantee), "
        "bh (false discovery rate, to explore).",
        show_default="holm",
    ),
]
ClusterOption = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="participant",
        help="What is resampled; `participant` keeps a person's conversations together.",
        show_default="conversations",
    ),
]
BaselinesOption = Annotated[
    bool, typer.Option("--with-baselines", help="Also the built-in baselines, as if they were models.")
]
AlphaOption = Annotated[float, typer.Option("--alpha", min=1e-6, max=0.5, help="Level of the tests.")]
PowerOption = Annotated[
    float, typer.Option("--power", min=0.5, max=0.999, help="Power that minimum detectable effects are for.")
]
ResamplesOption = Annotated[
    int,
    typer.Option(
        "--resamples",
        min=100,
        help="Resamples of bootstrap intervals. Tests draw as many permutations as they need, whatever this says.",
    ),
]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Seed of all chance.")]
ModesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--modes",
        metavar="MODE…",
        help="default (the primary benchmark), verbose (reasons first), omniscient (knows the person's profile), "
        "verbose_omniscient, or all; several words or a comma "
        "list. Without it default alone.",
        show_default=False,
    ),
]
CodebookOption = Annotated[
    Path | None,
    typer.Option("--codebook", help="An annotation codebook in place of the one beside the data or our own."),
]
SkipInvalidOption = Annotated[
    bool, typer.Option("--skip-invalid", help="Leave out conversations that do not validate, and name them.")
]
FormatOption = Annotated[Format, typer.Option("--format", "-f", help="For people or for programs.")]
TextOutputOption = Annotated[
    Path | None, typer.Option("-o", "--output", help="Write to this file, not to the terminal.")
]
AllRowsOption = Annotated[bool, typer.Option("--all-rows", help="Show every row of a table in the terminal.")]
