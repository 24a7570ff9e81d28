"""Whether the groups of a study can be held against each other: the same labels, prompts, settings, conversations.

Turns the metadata of scores files into sentences: those that forbid a comparison and those that must be read with it.
Computes no statistic and compares no score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from attunebench.errors import DataError
from attunebench.judging import judges_named, scales_named
from attunebench.metrics import bertscore
from attunebench.metrics.draft import JUDGED
from attunebench.metrics.rates import ANSWERED_ENOUGH, percent, rate
from attunebench.published import published_remarks
from attunebench.results.schema import worth_telling
from attunebench.scores import ConversationEntry
from attunebench.scores.table import Group, ScoreTable
from attunebench.text import listed, printable

_BERTSCORES = frozenset(card.id for card in bertscore.CARDS)
"""Metrics that say as much about the language model that compared the drafts."""

_SETTINGS: Mapping[str, str] = {
    "codebook_sha256": "codebooks",
    "prompt_set_sha256": "prompt sets",
    "panas_strategy": "PANAS strategies",
    "temperature": "temperatures",
    "max_tokens": "token limits of replies",
    "structured": "ways to enforce the answer format",
    "max_reasks": "numbers of re-prompts",
}
_SHORT_HASH = 12


class Finding(NamedTuple):
    """Something that groups differ in. "refuse": a comparison would measure this and not the models."""

    severity: Literal["refuse", "warn"]
    sentence: str


def findings(study: ScoreTable, metric_ids: Iterable[str] = ()) -> tuple[Finding, ...]:
    """What stands against comparing the groups of the study in these metrics, the gravest first."""
    ids = list(metric_ids)
    found = [
        *_labels(study),
        *_definitions(study),
        *(finding for metric_id in ids if metric_id in JUDGED for finding in judges_differ(study, metric_id)),
        *(finding for metric_id in ids if metric_id in _BERTSCORES for finding in _comparers(study, metric_id)),
        *_settings(study),
        *_published(study),
        *_served(study),
        *_coverage(study),
        *_unanswered(study),
    ]
    if any("synthetic-demo" in (metadata.get("sources") or ()) for metadata in study.metadata):
        found.append(Finding("warn", "These are demonstration conversations written by this project: no human data."))
    return tuple(sorted(found, key=lambda finding: finding.severity != "refuse"))


def warnings_or_refusal(study: ScoreTable, metric_ids: Iterable[str] = (), *, force: bool = False) -> tuple[str, ...]:
    """The sentences to read before a comparison. DataError where there must be none, unless it is forced."""
    found = findings(study, metric_ids)
    against = [finding.sentence for finding in found if finding.severity == "refuse"]
    if against and not force:
        raise DataError(f"{' '.join(against)} Use --force to compare anyway.")
    forced = {"refuse": "NOT COMPARABLE, compared because of --force: ", "warn": ""}
    return tuple(f"{forced[finding.severity]}{finding.sentence}" for finding in found)


# Labels and definitions: of the files


def _labels(study: ScoreTable) -> Iterator[Finding]:
    used = sorted({group.source for group in study.groups if "published" not in study.metadata[group.source]})
    if len(used) < 2:
        return
    ids = frozenset(study.ids)
    others = {source: [one for one in study.relabelled.get(source, ()) if one in ids] for source in used}
    for source, other in others.items():
        if other:
            yield Finding(
                "refuse",
                f"{_file(study, source)} was scored on different labels than the other files: {len(other)} of "
                f"{len(ids)} conversations differ, such as {other[0]}. Score all results on the same conversations.",
            )
    if any(others.values()):
        return
    digests = {study.metadata[source].get("ground_truth_sha256") for source in used}
    unsure = [source for source in used if source in study.unlabelled]
    names = listed([_file(study, source) for source in used])
    if unsure and len(digests) > 1:
        old = listed([_file(study, source) for source in unsure])
        sentence = (
            f"{names} were scored on different data, and {old} contains no labels to compare them; score it again."
        )
        yield Finding("refuse", sentence)
    elif unsure and None in digests:
        yield Finding("warn", f"It is unknown whether {names} were scored on the same labels.")
    elif len(digests) > 1:
        sentence = f"{names} were scored on different sets of conversations; only those in common are compared."
        yield Finding("warn", sentence)


def _published(study: ScoreTable) -> Iterator[Finding]:
    """Of models whose scores the released scorer made, nothing tells on which labels; some are known by aggregates."""
    files = [metadata for metadata in study.metadata if "published" in metadata]
    for metadata in files:
        yield from (Finding("warn", remark) for remark in published_remarks(metadata))
    if files:
        sentence = "It is unknown whether the released scorer used the same labels; conversations are matched by ID."
        yield Finding("warn", sentence)
    if alone := [name for metadata in files for entry in metadata["published"] for name in entry["aggregates_only"]]:
        names = printable(listed(alone), 500)
        yield Finding("warn", f"Not tested, because only aggregates are known: {names}.")


def _definitions(study: ScoreTable) -> Iterator[Finding]:
    files = [study.metadata[source] for source in sorted({group.source for group in study.groups})]
    registries, scorers = (
        list(dict.fromkeys(value for metadata in files if isinstance(value := metadata.get(key), str)))
        for key in ("registry_version", "attunebench_version")
    )
    if len({registry.partition(".")[0] for registry in registries}) > 1:
        yield Finding(
            "refuse",
            f"The files were scored with different definitions of the metrics (registry {listed(registries)}); "
            "score all results with one version.",
        )
    elif len(scorers) > 1:
        yield Finding("warn", f"The files were scored by different versions of attunebench: {listed(scorers)}.")


# Settings: of the groups


def several_scales(study: ScoreTable) -> bool:
    """Whether judges rated the drafts of the groups on several scales, so that these scores are not to be compared."""
    found = (scales_named(variant) for group in study.groups for variant in _variants(study, group))
    return len(set[str]().union(*found)) > 1


def judges_differ(study: ScoreTable, metric_id: str) -> list[Finding]:
    """That a judged metric comes from different judges, or from different scales, where it does."""

    def judges_of(group: Group) -> list[str]:
        named = dict.fromkeys(judge for variant in _variants(study, group) for judge in judges_named(variant))
        return [", ".join(map(str, named)) or "no judge named"]

    by_judges = _gathered(_measured(study, metric_id), judges_of)
    if len(by_judges) < 2:
        return []
    parts = "; ".join(f"{judges} for {_names(study, who)}" for judges, who in by_judges.items())
    return [
        Finding(
            "refuse",
            f"{metric_id} comes from different judges or scales: {parts}. Have the same judges rate all drafts on one "
            "scale (`attune-bench rejudge`).",
        )
    ]


def _comparers(study: ScoreTable, metric_id: str) -> Iterator[Finding]:
    """Weights up to a layer are the same whatever their folder is called."""

    def facts_of(group: Group) -> Mapping[str, Any]:
        return study.metadata[group.source].get("bertscore") or {}

    def comparer(group: Group) -> list[str]:
        facts = facts_of(group)
        weights = facts.get("sha256")
        which = f"weights {weights[:_SHORT_HASH]}" if weights else f"model {facts.get('model')}"
        return [f"{printable(which)}, layer {facts.get('layer')}{', rescaled' if facts.get('rescaled') else ''}"]

    by_model = _gathered(_measured(study, metric_id), comparer)
    if len(by_model) > 1:
        parts = "; ".join(
            f"{printable(str(facts_of(who[0]).get('model')))} ({weights}) for {_names(study, who)}"
            for weights, who in by_model.items()
        )
        sentence = f"{metric_id} comes from different language models: {parts}. Score all results with the same one."
        yield Finding("refuse", sentence)


def _settings(study: ScoreTable) -> Iterator[Finding]:
    """Settings that differ between groups, and those that changed in the middle of a group's results."""
    mixed = []
    for key, what in _SETTINGS.items():
        values = {group: _values_of(study, group, key) for group in _asked(study)}
        by_value = _gathered(values, values.__getitem__)
        if len(by_value) > 1:
            longest = _SHORT_HASH if key.endswith("sha256") else None
            parts = "; ".join(f"{value[:longest]} ({_names(study, who)})" for value, who in by_value.items())
            yield Finding("warn", f"DIFFERENT {what.upper()}: {parts}. This may explain a difference.")
        if several := [group for group, found in values.items() if len(found) > 1]:
            mixed.append(f"{what} in {_names(study, several)}")
    if mixed:
        yield Finding("warn", f"Results of one model with different settings: {'; '.join(mixed)}.")


def _served(study: ScoreTable) -> Iterator[Finding]:
    """A name may stand for another model tomorrow: what servers called themselves tells."""
    names = {group: _reported(study, group) for group in _asked(study)}
    changed = [
        f"{group.label} ({', '.join(telling)})"
        for group, reported in names.items()
        if (telling := worth_telling(group.model, reported))
    ]
    if changed:
        yield Finding("warn", f"A different model than requested answered, or several did: {listed(changed)}.")
    by_model: dict[tuple[str, str], dict[tuple[str, ...], Group]] = {}
    for group, reported in names.items():
        if reported:
            by_model.setdefault(group.model_key, {}).setdefault(reported, group)
    versions = [
        f"{next(iter(found.values())).label} ({', '.join(dict.fromkeys(name for each in found for name in each))})"
        for found in by_model.values()
        if len(found) > 1
    ]
    if versions:
        yield Finding("warn", f"Different versions of a model answered in different modes: {listed(versions)}.")


# Coverage: of the groups


def _coverage(study: ScoreTable) -> Iterator[Finding]:
    scored = study.scored()
    for mode in study.modes:
        columns = [column for column, group in enumerate(study.groups) if group.mode == mode]
        table = scored[:, columns]
        counts, shared = table.sum(axis=0), int(table.all(axis=1).sum())
        if len(columns) < 2 or (counts == shared).all():
            continue
        labels = [study.groups[column].label for column in columns]
        few = [f"{label} {count}" for label, count in zip(labels, counts, strict=True) if count < counts.max()]
        sentence = (
            f"Models were scored on different conversations ({mode}): {listed(few) or 'different ones'} of up to "
            f"{int(table.any(axis=1).sum())}; {shared} are common to all."
        )
        yield Finding("warn", sentence)


def _unanswered(study: ScoreTable) -> Iterator[Finding]:
    low = []
    for group in study.groups:
        entries = [entry for place in study.ids for entry in study.entries.get((group.key, place), ())]
        known = [(part, whole) for part, whole in map(_answered, entries) if part is not None and whole is not None]
        answered = rate(sum(part for part, _ in known), sum(whole for _, whole in known))  # as in a report
        if answered is not None and answered < ANSWERED_ENOUGH:
            low.append(f"{_name(study, group)} {percent(answered)}")
    if low:
        sentence = (
            f"Answered less than {100 * ANSWERED_ENOUGH:.0f} % of the requested items (unanswered items count as wrong)"
        )
        yield Finding("warn", f"{sentence}: {listed(low)}.")


def _answered(entry: ConversationEntry) -> tuple[float | None, float | None]:
    """How many items were answered, of how many; the rate as of one item where the scores keep no counts."""
    calls = entry.get("calls") or {}
    if calls.get("expected") is None:
        return entry["metrics"].get("answered_rate"), 1.0
    return calls.get("answered"), calls["expected"]


# Reading metadata


def _asked(study: ScoreTable) -> list[Group]:
    """Groups that a server answered for: to a baseline or a person no prompt and no temperature applies."""
    return [group for group in study.groups if group.kind == "model"]


def _measured(study: ScoreTable, metric_id: str) -> list[Group]:
    values = study.values(metric_id).T
    return [group for group, column in zip(study.groups, values, strict=True) if not np.isnan(column).all()]


def _entry(study: ScoreTable, group: Group) -> Mapping[str, Any]:
    entries = study.metadata[group.source].get("settings") or ()
    keys = ("provider", "em_model", "mode")
    return next((entry for entry in entries if tuple(map(entry.get, keys)) == group.key), {})


def _variants(study: ScoreTable, group: Group) -> Sequence[Mapping[str, Any]]:
    return tuple(_entry(study, group).get("variants") or ())


def _values_of(study: ScoreTable, group: Group, key: str) -> tuple[str, ...]:
    both = [{**(variant.get("parameters") or {}), **variant} for variant in _variants(study, group)]
    values = [variant[key] for variant in both if key in variant]
    return tuple(dict.fromkeys("the server's own" if value is None else str(value) for value in values))


def _reported(study: ScoreTable, group: Group) -> tuple[str, ...]:
    observed = _entry(study, group).get("observed") or {}
    return tuple(sorted(observed.get("models_reported") or ()))


def _gathered(groups: Iterable[Group], values: Callable[[Group], Iterable[str]]) -> dict[str, list[Group]]:
    """Value → the groups that have it, most frequent first."""
    found: dict[str, list[Group]] = {}
    for group in groups:
        for value in values(group):
            found.setdefault(value, []).append(group)
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))


# Words


def _name(study: ScoreTable, group: Group) -> str:
    return f"{group.label}, {group.mode}" if len(study.modes) > 1 else group.label


def _names(study: ScoreTable, groups: Sequence[Group]) -> str:
    """Models by name; a model with all its modes once."""
    modes = {group.mode for group in groups}
    if modes == set(study.modes) and len(groups) == len(modes) * len({group.model_key for group in groups}):
        return listed(list(dict.fromkeys(group.label for group in groups)))
    return listed([_name(study, group) for group in groups])


def _file(study: ScoreTable, source: int) -> str:
    return study.files[source] if source < len(study.files) else f"Scores file {source + 1}"
