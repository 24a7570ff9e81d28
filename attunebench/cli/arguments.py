"""Spellings that the parser does not know by itself, and the options that several commands share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from attunebench.cli.options import flag, parameter
from attunebench.errors import UsageError

if TYPE_CHECKING:
    import inspect

    from attunebench.analyses.base import Settings
    from attunebench.study import AnalysisOptions

_STATISTICS = "Statistics"
FOLDER = ("--conversations", "--ground-truth", "-d")
"""The spellings of the option for the conversations folder."""

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


def one_folder(positional: Path | None, option: Path | None) -> Path:
    """The conversations folder, by position or by option. Raises UsageError where it is missing or given twice."""
    if positional is not None and option is not None and positional != option:
        raise UsageError(f"The conversations folder is given twice ({positional} and {option}); give it once.")
    folder = positional or option
    if folder is None:
        raise UsageError("The conversations folder is missing; give it as an argument or with --conversations.")
    return folder


def ran_folders(results: Path, conversations: Path | None) -> Path:
    """The conversations that were run into an existing folder of results. Raises UsageError."""
    if conversations is None:
        raise UsageError("The conversations folder is missing; give it with --conversations.")
    if not results.is_dir():
        raise UsageError(f"There is no results folder {results}; name the folder that `run` wrote.")
    return conversations


def comma_list(values: Sequence[str] | None) -> tuple[str, ...]:
    """The words of a repeated option, each possibly a comma list; order kept, duplicates dropped."""
    words = (word.strip() for value in values or () for word in value.split(","))
    return tuple(dict.fromkeys(word for word in words if word))


Format = Literal["terminal", "markdown", "csv", "json"]


def scores_files(positional: Sequence[Path] | None, option: Sequence[Path] | None) -> list[Path]:
    """The scores files of a command that takes several, by position, by option or both; scores.json without any."""
    return list(dict.fromkeys([*(positional or ()), *(option or ())])) or [Path("scores.json")]


def scores_and_models(
    files: Sequence[Path] | None, option: Sequence[Path] | None, models: Sequence[str] | None
) -> tuple[list[Path], tuple[str, ...]]:
    """The scores files, and the models that are named: of `--models A B` the B, which is no file, is one too."""
    names = comma_list(models)
    further = [file for file in files or () if names and file.suffix != ".json" and not file.exists()]
    given = [file for file in files or () if file not in further]
    return scores_files(given, option), (*names, *map(str, further))


def metric_ids() -> list[str]:
    """What a shell completes."""
    from attunebench.metrics.registry import REGISTRY

    return [*REGISTRY]


def model_names(ctx: typer.Context) -> list[str]:
    """What a shell completes: the models in the scores file and in the journal at hand."""
    from attunebench.errors import AttuneBenchError
    from attunebench.journal import Journal
    from attunebench.jsonfile import read_json

    names = dict[str, None]()
    for path in scores_files(None, ctx.params.get("scores")):
        with suppress(AttuneBenchError, OSError, LookupError, TypeError):
            names |= dict.fromkeys(map(str, read_json(path)[0]["metadata"]["models"]))
    folder = Path(ctx.params.get("results") or ctx.params.get("output") or "results")
    with suppress(AttuneBenchError, OSError), Journal.read(folder, copies=True) as journal:
        names |= dict.fromkeys(str(model) for (model,) in journal.select("SELECT DISTINCT model FROM replies"))
    return [*names]


def analysis_values(options: Mapping[str, Any]) -> AnalysisOptions:
    """The values of `analysis_options` as the options of `attunebench.analyze` and its like."""
    values: Any = dict(options)
    values["by_participant"] = values.pop("cluster", None) is not None
    values["metrics"] = comma_list(values.pop("metric", None))
    return cast("AnalysisOptions", values)


def analysis_settings(options: Mapping[str, Any]) -> Settings:
    """How an analysis is made, of the values of `analysis_options`. Raises UsageError."""
    from attunebench.study import settings_of

    return settings_of(analysis_values(options))


def analysis_options(*without: str) -> list[inspect.Parameter]:
    """The options of commands that analyse scores, named as the fields of the analyses' settings."""
    return [parameter(name, *one) for name, one in _ANALYSIS.items() if name not in without]


ConversationsArgument = Annotated[
    Path | None, typer.Argument(metavar="CONVERSATIONS", help="Folder of the conversation files.", show_default=False)
]
ConversationsOption = Annotated[
    Path | None, flag("The same folder, as an option.", *FOLDER, panel="What is asked", rare=True)
]
GroundTruthOption = Annotated[Path | None, flag("Folder of the conversations with their labels.  [required]", *FOLDER)]
RanConversationsOption = Annotated[Path | None, flag("Folder of the conversations that were run.  [required]", *FOLDER)]
ResultsOption = Annotated[Path, flag("Folder of the result files.", "--results", "-r")]
ScoresFilesArgument = Annotated[
    list[Path] | None, typer.Argument(metavar="FILE", help="Files that `score` wrote.", show_default="scores.json")
]
ScoresFilesOption = Annotated[
    list[Path] | None,
    flag(
        "A file that `score` wrote; repeat it for models in several files.",
        "--scores",
        "-s",
        metavar="FILE",
        shown="scores.json",
    ),
]
ModelsOption = Annotated[
    list[str] | None,
    flag("Only these models; repeat or use commas.", "--models", "--model", metavar="MODEL", complete=model_names),
]
ClusterOption = Annotated[
    Literal["participant"] | None,
    flag(
        "Unit of resampling; `participant` keeps a person's conversations together.",
        "--cluster",
        shown="conversations",
        panel=_STATISTICS,
    ),
]
ResamplesOption = Annotated[
    int,
    flag(
        "Bootstrap resamples per interval. Does not affect the number of permutations of tests.",
        "--resamples",
        panel=_STATISTICS,
        min=100,
    ),
]
_ANALYSIS: Mapping[str, tuple[Any, Any]] = {
    "metric": (
        Annotated[
            list[str] | None,
            flag("Only these metrics; repeat or use commas.", "--metric", metavar="METRIC", complete=metric_ids),
        ],
        None,
    ),
    "mode": (Annotated[str | None, flag("Only this mode.", "--mode", metavar="MODE")], None),
    "baselines": (
        Annotated[bool, flag("Include the built-in baselines.", "--with-baselines")],
        False,
    ),
    "correction": (
        Annotated[
            Literal["holm", "bh", "maxt"],
            flag(
                "How p-values of several comparisons are corrected: holm (for claims), maxt (more powerful, same "
                "guarantee), bh (false discovery rate, to explore).",
                panel=_STATISTICS,
            ),
        ],
        "holm",
    ),
    "cluster": (ClusterOption, None),
    "alpha": (
        Annotated[float, flag("Level of the tests.", panel=_STATISTICS, min=1e-6, max=0.5)],
        0.05,
    ),
    "power": (
        Annotated[float, flag("Power for minimum detectable effects.", panel=_STATISTICS, min=0.5, max=0.999)],
        0.8,
    ),
    "resamples": (ResamplesOption, 10_000),
    "seed": (Annotated[int, flag("Random seed.", panel=_STATISTICS, min=0)], 0),
}
ModesOption = Annotated[
    list[str] | None,
    flag(
        "default, verbose (reasons first), omniscient (knows the person's profile), verbose_omniscient, or all.",
        "--modes",
        metavar="MODE…",
        shown="default",
        panel="What is asked",
    ),
]
CodebookOption = Annotated[
    Path | None,
    flag(
        "Annotation codebook to use instead of the data's or the built-in one.",
        "--codebook",
        panel="What is asked",
        rare=True,
    ),
]
DryRunOption = Annotated[
    bool, flag("Count calls, tokens and cost; ask no model.", "--dry-run", panel="Limits and cost")
]
JsonOption = Annotated[bool, flag("Write the result as JSON to stdout.", "--json", panel="Output")]
QuietOption = Annotated[bool, flag("Errors and results only.", "--quiet", "-q", panel="Output")]
SkipInvalidOption = Annotated[bool, flag("Skip invalid conversations.", "--skip-invalid", panel="What is asked")]
FormatOption = Annotated[Format, flag("Output format.", "--format", "-f", panel="Output")]
TextOutputOption = Annotated[
    Path | None, flag("Write to this file instead of the terminal.", "-o", "--output", panel="Output")
]
FullOption = Annotated[
    bool, flag("Show every table, row and column in the terminal.", "--full", "--all-rows", panel="Output")
]
OUTPUT = [
    parameter("format", FormatOption, "terminal"),
    parameter("output", TextOutputOption),
    parameter("full", FullOption, False),
]
"""Where tables go; the values are arguments of `emit_analyses`."""
