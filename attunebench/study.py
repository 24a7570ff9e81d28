"""Scoring and analysis from Python: the functions behind the commands that call no model.

All accept scores in any form: what `score` or `load_scores` returned, a path, a dict, or several paths or dicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast

from typing_extensions import Unpack

from attunebench.errors import UsageError
from attunebench.published import rules_of
from attunebench.scorer import score_folders
from attunebench.scorer.folders import FolderOptions
from attunebench.scores import read_scores
from attunebench.scores.audits import with_audits
from attunebench.scores.checks import group_key, require_shape
from attunebench.scores.files import require_version
from attunebench.scores.table import ScoreTable
from attunebench.views import ScoreFile, ScoreStudy

if TYPE_CHECKING:
    from attunebench.analyses.base import Settings
    from attunebench.reports import By
    from attunebench.statistics.multiple import Correction
    from attunebench.views import AnalysisResult, ComparisonResult, FigureResult, Page, ReportResult

OneScores = str | Path | Mapping[str, Any] | ScoreTable
ScoresLike = OneScores | Sequence[str | Path | Mapping[str, Any]]
"""Scores: a path, the content of a scores file, a table of it; or several paths or contents, read as one study."""


class AnalysisOptions(TypedDict, total=False):
    """How analyses are made: the fields of `attunebench.analyses.Settings`, with its defaults."""

    mode: str | None
    metrics: Sequence[str]
    seed: int
    resamples: int
    level: float
    alpha: float
    power: float
    correction: Correction
    by_participant: bool
    baselines: bool
    small: int
    threshold: float


def score(results: str | Path, conversations: str | Path, **options: Unpack[FolderOptions]) -> ScoreFile:
    """Score the result files under `results` against the labels under `conversations`; calls no model.

    Returns the content of scores.json, a dict: `scores["aggregates"]` has the means of each model and mode,
    `scores["conversations"]` each result. `scores.save(path)` writes it, `scores.table` has it as arrays and data
    frames. Keywords are those of `attunebench.scorer.folders.FolderOptions` (`seed`, `resamples`, `cluster`, `ci`,
    `rules`, `judge_scale`, `skip_invalid`, `bertscore` …). `left_out` lists results that could not be scored.
    Raises DataError (nothing to score, invalid conversations) and UsageError (unknown options).
    """
    return ScoreFile(score_folders(results, conversations, **options))


def load_scores(paths: str | Path | Sequence[str | Path]) -> ScoreStudy:
    """Load one or more scores files as one study.

    `models_df()`, `conversations_df()`, `turns_df()` and `answers_df()` return data frames (docs/data-frames.md).
    Raises DataError for unreadable files, or if two files contain the same model and mode.
    """
    return ScoreStudy.of(*_parts(paths))


def report(
    scores: ScoresLike,
    *,
    metrics: Sequence[str] = (),
    show_all: bool = False,
    by: By | None = None,
    skill_against: str | None = None,
    results: str | Path | None = None,
    conversations: str | Path | None = None,
    texts: bool = True,
) -> ReportResult:
    """Report the scores of each model with n and intervals, as tables and as an HTML page.

    `.html` is the page; `.text` and `.markdown` are the tables. `.save("report.html")` chooses the format by the file
    extension, and `.to_df(table)` returns a table as a data frame. `metrics` restricts the tables to these ids,
    `show_all` adds diagnostics, `by="branch"` groups by branches of emotional intelligence, `skill_against` adds skill
    over a baseline. The page shows texts from the folders `results` and `conversations`, by default those that were
    scored; `texts=False` omits them. Raises UsageError (unknown metric or baseline) and DataError (unusable scores).
    """
    from attunebench.reports import build_report
    from attunebench.reports.layout import as_analysis
    from attunebench.views import ReportResult

    page = page_of(scores, results, conversations, texts=texts)
    study = ScoreStudy.of([page.scores], [page.file]) if page.scores.get("conversations") else None
    options: dict[str, Any] = {"metrics": metrics, "show_all": show_all, "by": by, "skill_against": skill_against}
    built = build_report(page.scores, file=page.file, study=study, **options)
    return ReportResult((as_analysis(built, rounded=False),), built.rules, study, report=built, page=page)


def page_of(
    scores: ScoresLike,
    results: str | Path | None = None,
    conversations: str | Path | None = None,
    *,
    texts: bool = True,
) -> Page:
    """The HTML page of `report`, without its tables."""
    from attunebench.views import Page

    folders = [None if folder is None else Path(folder) for folder in (results, conversations)]
    return Page(*_whole(scores), *folders, texts=texts)


def analyze(
    scores: ScoresLike,
    *names: str,
    other_labels: Sequence[OneScores] = (),
    arena: str | Path | None = None,
    progress: Callable[[Sequence[str]], Iterable[str]] | None = None,
    **options: Unpack[AnalysisOptions],
) -> AnalysisResult:
    """Run analyses by name ("perspective-gap"), or all of them if no name is given.

    `.verdict` states what the numbers show, `.tables` and `.to_df(table)` contain the numbers, and
    `result["perspective-gap"]` selects one of several. `.save(path)` chooses the format by the file extension. An
    analysis that the scores do not support gives the reason in `missing`. `other_labels`: the same results scored on
    other labels, for "label-sets". `arena`: a file that `arena score` wrote, for "independence". `progress` wraps the
    iteration over names, like `tqdm`. docs/analyses.md lists the analyses. Raises UsageError for an unknown name,
    metric or mode, DataError for scores that cannot be analysed.
    """
    from attunebench.analyses import ANALYSES, Subject, analyse, entry
    from attunebench.views import AnalysisResult

    chosen = tuple(dict.fromkeys(entry(name).name for name in names)) or tuple(ANALYSES)
    settings = settings_of(options)
    if chosen == ("rules",):
        study, *others = _by_rules(scores)
    else:
        study, others = _study(scores), [_study(other) for other in other_labels]
        if any(other.rules != study.rules for other in others):
            raise UsageError("The scores of other labels follow different rules; score them with the same --rules.")
    if settings.mode is not None:
        study.of_mode(settings.mode)
    subject = Subject(study, settings, tuple(others))
    if arena is not None:
        from attunebench.arena.beside import arena_ratings

        subject = replace(subject, arena=arena_ratings(Path(arena)))
    made = tuple(analyse(name, subject) for name in (chosen if progress is None else progress(chosen)))
    rules = " and ".join(one.rules for one in (study, *others)) if chosen == ("rules",) else study.rules
    return AnalysisResult(made, rules, study, brief=not names)


def compare(
    scores: ScoresLike, *models: str, force: bool = False, **options: Unpack[AnalysisOptions]
) -> ComparisonResult:
    """Compare all models, or the given ones, in pairs over the conversations that both have.

    Shows ranks, tiers and the pairs that differ significantly. `.analyses`, `.tables` and `.save(path)` contain every
    pair, `.comparison` the arrays. `metrics` defaults to the Composite and pairwise accuracy. Raises UsageError
    (unknown model, metric or mode; a single model) and DataError (no shared conversations; different labels or judges,
    which `force` turns into warnings).
    """
    from attunebench.comparison import compare as compared
    from attunebench.comparison.screen import on_screen
    from attunebench.views import ComparisonResult

    study, settings = _study(scores), settings_of(options)
    found = compared(study, settings, models=models, force=force)
    brief = on_screen(found, settings)
    return ComparisonResult(found.analyses, study.rules, study, on_screen=brief, comparison=found)


def figure(
    scores: ScoresLike,
    *names: str,
    width: Literal["single", "double"] = "double",
    dpi: int = 300,
    force: bool = False,
    **options: Unpack[AnalysisOptions],
) -> FigureResult:
    """Draw figures for print by name ("leaderboard"), or all if no name is given; requires the extra `analyses`.

    `.figure` is the matplotlib figure and `.caption` its caption. `.save("leaderboard.pdf")` writes one figure,
    `.save("figures")` all of them with their captions. `skipped` lists figures that the scores do not support, with
    the reason. docs/figures.md lists the figures. Raises UsageError (unknown figure or mode, matplotlib missing) and
    DataError (different labels, which `force` turns into warnings).
    """
    from attunebench import figures
    from attunebench.scores.compatibility import warnings_or_refusal
    from attunebench.views import FigureResult

    chosen = [figures.entry(name).name for name in names]
    figures.require_matplotlib()
    study, settings, look = _study(scores), settings_of(options), figures.Look(width, dpi)
    if settings.mode is not None:
        study.of_mode(settings.mode)
    warnings = warnings_or_refusal(study.models(baselines=settings.baselines), force=force)
    pictures, skipped = figures.draw(study, settings, look, chosen)
    return FigureResult(tuple(pictures), tuple(skipped), look, settings, tuple(warnings), study.rules)


def settings_of(options: AnalysisOptions) -> Settings:
    """The options as settings; UsageError for an option or a metric that does not exist."""
    from attunebench.analyses.base import Settings
    from attunebench.metrics.registry import metric

    try:
        settings = Settings(**options)  # type: ignore[arg-type]  # any sequence of metrics becomes a tuple below
    except TypeError:
        unknown = ", ".join(options.keys() - AnalysisOptions.__annotations__.keys())
        raise UsageError(
            f"Unknown option {unknown}; options are {', '.join(AnalysisOptions.__annotations__)}."
        ) from None
    metrics = [settings.metrics] if isinstance(settings.metrics, str) else settings.metrics
    return replace(settings, metrics=tuple(metric(metric_id).id for metric_id in metrics))


def _study(scores: ScoresLike) -> ScoreStudy:
    """The scores as one study."""
    if isinstance(scores, ScoreFile):
        return scores.table
    if isinstance(scores, ScoreTable):
        return ScoreStudy.showing(scores)
    return ScoreStudy.of(*_parts(scores))


def _parts(scores: ScoresLike) -> tuple[list[Mapping[str, Any]], list[str]]:
    """The content of each scores file, and their names."""
    if isinstance(scores, ScoreStudy) and scores.parts:
        return list(scores.parts), [*scores.files] or ["The scores"]
    if isinstance(scores, ScoreTable):
        scores = scores.files
    one_of = (str, Path, Mapping)
    listed = [scores] if isinstance(scores, one_of) else list(scores) if isinstance(scores, Iterable) else []
    if not listed or isinstance(scores, bytes) or not all(isinstance(one, one_of) for one in listed):
        raise UsageError("Scores are what `score` returned, a path, a dict or a table, or a list of paths and dicts.")
    parts = [one if isinstance(one, Mapping) else cast("Mapping[str, Any]", read_scores(one)) for one in listed]
    names = [f"scores {place}" if isinstance(one, Mapping) else str(one) for place, one in enumerate(listed, 1)]
    if len(names) == 1 and isinstance(listed[0], Mapping):
        names = ["The scores"]
    for part, name in zip(parts, names, strict=True):
        require_version(part, name)
    return [with_audits(part, name) for part, name in zip(parts, names, strict=True)], names


def _whole(scores: ScoresLike) -> tuple[Mapping[str, Any], str]:
    """The content of all scores files as one, and a name for it. Of a table the groups that it has; UsageError for one
    of some of their conversations, whose means no file holds."""
    from attunebench.reports.merging import merged_scores

    parts, files = _parts(scores)
    content = merged_scores(parts, files)
    if isinstance(scores, ScoreTable):
        groups, ids = {group.key for group in scores.groups}, {*scores.ids}
        entries = {
            name: [entry for entry in content[name] if group_key(entry) in groups]
            for name in ("aggregates", "conversations")
        }
        if any(entry["conversationId"] not in ids for entry in entries["conversations"]):
            raise UsageError(
                "A report covers all conversations of its scores; for a subset, use `compare` or `analyze`."
            )
        content = {**content, **entries}
    return content, files[0]


def _by_rules(scores: ScoresLike) -> list[ScoreStudy]:
    """A study of the scores of each rules among them."""
    of_rules: dict[str, list[tuple[Mapping[str, Any], str]]] = {}
    for part, file in zip(*_parts(scores), strict=True):
        require_shape(part, file)
        of_rules.setdefault(rules_of(part["metadata"]), []).append((part, file))
    return [ScoreStudy.of(*zip(*listed, strict=True)) for listed in of_rules.values()]
