"""From the dict of scores.json to the table model: which metrics are shown, in which section, in which order.

Owns the choice and the grouping of rows. Reads no file, draws nothing, computes no score.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from attunebench.analyses.base import SMALL, Settings
from attunebench.analyses.table import Cell
from attunebench.errors import DataError
from attunebench.metrics.draft import JUDGED
from attunebench.metrics.rates import percent
from attunebench.metrics.registry import REGISTRY, Metric, cards_of, metric
from attunebench.published import rules_of
from attunebench.reports import branches, notes, servers
from attunebench.reports.model import (
    PRIMARY_MODE,
    Group,
    Reference,
    Report,
    Section,
    Standing,
    read_groups,
    read_references,
    settings_of,
)
from attunebench.reports.rows import SECTIONS, pooled_rows, rows_of, stands_beside
from attunebench.reports.skills import skill_section
from attunebench.scores.checks import require_shape
from attunebench.scores.loading import score_table
from attunebench.text import counted

if TYPE_CHECKING:
    from attunebench.comparison import Ranking
    from attunebench.scores.table import ScoreTable

By = Literal["branch"]

_ALWAYS = ("pillar", "turn", "conversation", "released")
_ORIGIN = {"ground_truth": "labels from", "results": "results from", "attunebench_version": "scored by attunebench"}


def build_report(
    scores: Mapping[str, Any],
    *,
    file: str = "The scores file",
    metrics: Sequence[str] | None = None,
    show_all: bool = False,
    by: By | None = None,
    skill_against: str | None = None,
    study: ScoreTable | None = None,
    settings: Settings | None = None,
) -> Report:
    """The report of a scores dict; `file` is its name.

    `metrics` restricts it to these ids, whatever their status; `show_all` adds the other draft metrics and the
    diagnostics; `by="branch"` groups by the branches of emotional intelligence in place of turns and conversations;
    `skill_against` names a reference or built-in baseline of the scores, against which a section shows skill. `study`
    is the table of the scores where there is one already, `settings` are those of tiers. Raises UsageError for an
    unknown metric id or baseline and DataError for scores that are not of the format.
    """
    scores = {"metadata": {}, "conversations": [], "aggregates": [], **scores}
    if study is None and scores["conversations"]:
        study = score_table(scores, files=[file])
    elif study is None:
        require_shape(scores, file)
    if not scores["aggregates"]:
        raise DataError(
            "The scores contain no aggregates, so there is nothing to report. Run `attune-bench score` again."
        )
    groups, references, metadata = read_groups(scores), read_references(scores), scores["metadata"]
    rules = rules_of(metadata)
    cards = cards_of(rules)
    chosen = [cards.get(card.id, card) for card in map(metric, dict.fromkeys(metrics or ()))]
    if by == "branch":
        sections = branches.sections(groups, chosen=chosen, show_all=show_all)
    else:
        sections = _sections(groups, chosen or tuple(cards.values()), show_all, narrowed=bool(chosen))
    if skill_against is not None:
        sections.insert(1, skill_section(study or score_table(scores), groups, skill_against, chosen))
    ranked = any(section.leaderboard and section.rows for section in sections)
    remarks = () if any(section.leaderboard for section in sections) else servers.remarks_of(groups)
    rankings: list[Ranking] = []
    if ranked and study is not None:
        settings = settings or replace(settings_of(metadata), resamples=Settings().resamples)
        models = ranked_models(study.models(baselines=settings.baselines))
        groups, explained, rankings = _with_standings(groups, models, settings)
        sections = [
            replace(section, notes=(*explained, *section.notes)) if section.leaderboard else section
            for section in sections
        ]
    return Report(
        title="AttuneBench scores by branch" if by == "branch" else "AttuneBench scores",
        summary=_summary(groups, scores, metadata),
        warnings=notes.warnings_of(groups, scores),
        notes=(*remarks, *notes.notes_of(groups, references, scores)),
        groups=groups,
        sections=tuple(_beside(section, references) for section in sections if section.rows),
        references=references,
        rules=rules,
        rankings=tuple(rankings),
    )


def ranked_models(models: ScoreTable) -> ScoreTable:
    """Without the oracle, unless there is nothing else: it answers from the labels and shows the ceiling."""
    others = [group for group in models.groups if group.kind != "oracle"]
    return models.with_groups(others or models.groups)


def _beside(section: Section, references: Sequence[Reference]) -> Section:
    """The section with those references that can have one of its metrics."""
    ids = {row.id for row in section.rows}
    shown = tuple(
        r for r in references if any(cell.value is not None for name, cell in r.values.items() if name in ids)
    )
    rows = (replace(row, beside=tuple(r.values.get(row.id, Cell(None)) for r in shown)) for row in section.rows)
    return replace(section, rows=tuple(rows), references=shown)


def _sections(groups: Sequence[Group], cards: Sequence[Metric], show_all: bool, *, narrowed: bool) -> list[Section]:
    placed: dict[str, list[Metric]] = {name: [] for name in SECTIONS}
    for card in cards:
        placed["turn" if stands_beside(card) and not narrowed else card.group].append(card)
    sections = []
    for name, members in placed.items():
        if name in _ALWAYS or show_all or narrowed:
            sections.append(_section(name, members, groups, keep_empty=narrowed))
        elif name == "draft":
            judged = [card for card in members if card.id in JUDGED]
            section = _section(name, judged, groups, keep_empty=False)
            counted_over = (notes.judged_n(groups),) if section.rows else ()
            sections.append(replace(section, title="Judged drafts", notes=(*section.notes, *counted_over)))
        if name == "turn" and not narrowed:
            sections.append(_pooled(groups, show_all))
    return sections


def _pooled(groups: Sequence[Group], show_all: bool) -> Section:
    """Yes/no answers counted over all turns: their F1 and MCC see what an accuracy over skewed answers hides."""
    statistics = ("counts", "accuracy", "precision", "recall", "f1", "mcc") if show_all else ("f1", "mcc")
    blocks = ("binary_om", "binary_hp", "binary_om_hp", "binary_hp_hp") if show_all else ("binary_om", "binary_hp")
    rows = [row for block in blocks for row in pooled_rows(groups, block, statistics)]
    return Section(
        "Turn by turn: yes/no answers pooled",
        "The n answers of all conversations, pooled; unanswered counts as wrong.",
        tuple(row for row in rows if row.measured),
    )


def _section(name: str, cards: Sequence[Metric], groups: Sequence[Group], *, keep_empty: bool) -> Section:
    title, explanation = SECTIONS[name]
    rows = rows_of(cards, groups)
    shown = rows if keep_empty else tuple(row for row in rows if row.card.status == "canonical" or row.measured)
    absent = [row.card.label for row in rows if row not in shown and not REGISTRY[row.id].optional]
    remarks = [f"Not measured here: {', '.join(absent)}."] if absent else []
    if any(row.measured and row.id in JUDGED for row in shown):
        remarks[:0] = [notes.judges_of(groups), *notes.validation_of(groups)]
    if name == "pillar":
        modes = notes.other_modes(groups)
        remarks = [*([modes] if modes else []), *servers.remarks_of(groups), *remarks]
    return Section(title, explanation, shown, tuple(remarks), leaderboard=name == "pillar")


def _summary(groups: Sequence[Group], scores: Mapping[str, Any], metadata: Mapping[str, Any]) -> tuple[str, ...]:
    names = {(group.provider, group.model) for group in groups}
    beside = {kind: sum(provider == kind for provider, _ in names) for kind in ("baseline", "human")}
    models = len(names) - sum(beside.values())
    # Baselines alone (the demonstration) are what is shown in the place of models.
    who = [counted(models, "model"), *(counted(count, kind) for kind, count in beside.items() if count)]
    modes = {group.mode: f"{group.mode} (primary)" if group.mode == PRIMARY_MODE else group.mode for group in groups}
    met = frozenset[str]().union(*(group.conversations for group in groups))
    conversations = len(met) or max(group.n for group in groups)
    people = len({entry["participant_id"] for entry in scores["conversations"]} - {None})
    people = people or max(group.participants or 0 for group in groups)
    of_people = f" of {counted(people, 'participant')}" if people else ""
    scope = f"{', '.join(who) if models else counted(len(names), 'model')} · mode {', '.join(modes.values())}"
    what = f"{scope} · {counted(conversations, 'conversation')}{of_people} · rules {rules_of(metadata)}"
    origin = [f"{label} {metadata[key]}" for key, label in _ORIGIN.items() if isinstance(metadata.get(key), str)]
    return tuple(line for line in (what, _coverage(groups), " · ".join(origin)) if line)


def _coverage(groups: Sequence[Group]) -> str:
    """How much was scored and answered, from the least to the most; the leaderboard has both by group."""
    counts = [str(n) for n in sorted(group.n for group in groups)]
    rates = [percent(rate) for rate in sorted(group.answered for group in groups if group.answered is not None)]
    scored, answered = (" to ".join(dict.fromkeys(ends[:1] + ends[-1:])) for ends in (counts, rates))
    expected = [group.expected for group in groups if group.expected is not None]
    parts = [f"scored {scored}" + (f" of {max(expected)}" if expected else "")]
    return " · ".join([*parts, f"answered {answered}"] if rates else parts)


def _with_standings(
    groups: Sequence[Group], models: ScoreTable, settings: Settings
) -> tuple[tuple[Group, ...], tuple[str, ...], list[Ranking]]:
    """The groups with their standing by Composite among the models of their mode, sentences that explain it, and the
    rankings of the modes.

    As `compare` ranks them by default, whatever number of resamples the intervals of the scores have: models, or
    baselines where there is no model. A mode with a single one has no standings, nor have scores of so few
    conversations that nothing could be claimed.
    """
    from attunebench.comparison import tiers_of

    if max(Counter(group.mode for group in groups).values()) < 2:
        return tuple(groups), (), []
    if sorted(group.n for group in groups)[-2] < SMALL:
        sentence = (
            f"No tiers: fewer than {SMALL} conversations are too few to claim that one model is better than another."
        )
        return tuple(groups), (sentence,), []
    parts = [part for mode in models.modes if len((part := models.of_mode(mode)).groups) > 1]
    rankings = [tiers_of(part, "composite", settings) for part in parts]
    found = {}
    for ranking in rankings:
        for i in (place for members in ranking.tiers for place in members):
            tier = None if ranking.small else int(ranking.tier[i])
            found[ranking.groups[i].key] = Standing(tier, int(ranking.stability.low[i]), int(ranking.stability.high[i]))
    placed = tuple(replace(group, standing=found.get(group.key)) for group in groups)
    return placed, (_explained(rankings),) if found else (), rankings


def _explained(rankings: Sequence[Ranking]) -> str:
    counts = " and ".join(counted(tests, "pair") for tests in sorted({ranking.pairs.tests for ranking in rankings}))
    small = any(ranking.small for ranking in rankings)
    none = " –: too few shared conversations or participants for a claim." if small else ""
    return (
        "Tier: models that do not differ significantly from the best of their tier (Holm over "
        f"{counts}, α {rankings[0].pairs.alpha:g}); in brackets, the range of ranks over resampled "
        f"conversations.{none} `attune-bench compare` shows the pairs."
    )
