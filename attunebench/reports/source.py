"""Reads the dict of scores.json (spec 5.3) into the groups of a report, or says in one sentence why it cannot.

The only file of the reports that knows how scores are laid out; computes nothing but counts.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from attunebench.constants import MODES
from attunebench.errors import DataError
from attunebench.judging import judges_named
from attunebench.metrics.registry import below_chance, no_reference
from attunebench.published import BY_SE
from attunebench.reports.model import PRIMARY_MODE, Estimate, Group, Reference

_REASONS = ("skipped", "duplicated", "missing")
_COUNTS = ("tp", "tn", "fp", "fn")
_Key = tuple[str, str, str]


def read_groups(scores: Mapping[str, Any]) -> tuple[Group, ...]:
    """The groups, the primary mode first and within a mode by falling Composite, undefined ones last.

    Raises DataError where the scores have no aggregates or these are not of the format.
    """
    aggregates = scores.get("aggregates")
    if not isinstance(aggregates, Sequence) or isinstance(aggregates, str) or not aggregates:
        raise DataError("The scores hold no aggregates, so there is nothing to report; run `attune-bench score` again.")
    ids, metadata = _ids(scores), mapping(scores.get("metadata"))
    groups = [_group(entry, metadata, ids) for entry in aggregates]
    return tuple(sorted(groups, key=_rank))


def read_references(scores: Mapping[str, Any]) -> tuple[Reference, ...]:
    """The references in the order of the scores; none where an older version made them."""
    listed = scores.get("references")
    entries = [entry for entry in listed if isinstance(entry, Mapping)] if isinstance(listed, list) else []
    return tuple(
        Reference(
            id=str(entry["id"]),
            label=str(entry.get("label", entry["id"])),
            meaning=" ".join(filter(None, (str(entry.get("meaning", "")), no_reference(_below_chance(entry))))),
            n=_count(entry.get("n_conversations")) or 0,
            values={
                str(metric): Estimate() if below_chance(metric, cell.mean) else cell
                for metric, cell in _cells(entry).items()
            },
        )
        for entry in entries
        if "id" in entry
    )


def _cells(entry: Mapping[str, Any]) -> dict[str, Estimate]:
    return {str(metric): _cell(value) for metric, value in mapping(entry.get("metrics")).items()}


def _below_chance(entry: Mapping[str, Any]) -> list[str]:
    return [metric_id for metric_id, cell in _cells(entry).items() if below_chance(metric_id, cell.mean)]


def participants_of(scores: Mapping[str, Any]) -> int | None:
    """How many different people the scored conversations are of; None where no conversation says."""
    people = {entry["participant_id"] for entry in _entries(scores) if isinstance(entry.get("participant_id"), str)}
    return len(people) or None


def counts_of(pooled: Any) -> Mapping[str, int] | None:
    """tp, tn, fp, fn of a pooled block, or None where it does not have all four."""
    block = mapping(pooled)
    counts = {name: block.get(name) for name in _COUNTS}
    if all(isinstance(count, int) for count in counts.values()):
        return {name: int(count) for name, count in counts.items() if count is not None}
    return None


def pooled_cell(pooled: Any, statistic: str) -> Estimate:
    """One statistic of a pooled block ("counts": their sum) and its counts; n is that sum, and 0 makes it undefined."""
    counts = counts_of(pooled)
    total = sum(counts.values()) if counts else 0
    if not total:
        return Estimate()
    value = float(total) if statistic == "counts" else finite(mapping(pooled).get(statistic))
    return Estimate(mean=value, n=total, counts=counts)


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def finite(value: Any) -> float | None:
    """The value as a float if it is a finite number, else None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if math.isfinite(value) else None


def strings(value: Any) -> tuple[str, ...]:
    """The texts of a list; a single text is a list of one."""
    if isinstance(value, str):
        return (value,)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, Sequence) else ()


def _entries(scores: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    entries = scores.get("conversations")
    return [entry for entry in entries if isinstance(entry, Mapping)] if isinstance(entries, list) else []


def _key(entry: Mapping[str, Any]) -> _Key:
    mode = str(entry.get("mode", PRIMARY_MODE))
    return str(entry.get("provider", "unknown")), str(entry.get("em_model", "unknown")), mode


def _ids(scores: Mapping[str, Any]) -> Mapping[_Key, set[str]]:
    """Key of a group → the ids of its scored conversations."""
    found: dict[_Key, set[str]] = defaultdict(set)
    for entry in _entries(scores):
        found[_key(entry)].add(str(entry.get("conversationId")))
    return found


def _sample(sample: Mapping[str, Any]) -> tuple[int, int] | None:
    reached, seed = sample.get("reached"), sample.get("seed")
    return (reached, seed) if type(reached) is int and type(seed) is int else None


def _group(entry: Any, metadata: Mapping[str, Any], ids: Mapping[_Key, set[str]]) -> Group:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("metrics"), Mapping) or "em_model" not in entry:
        raise DataError(
            "An entry of the scores' aggregates lacks its model or metrics; run `attune-bench score` again."
        )
    key = _key(entry)
    coverage = mapping(entry.get("coverage"))
    values = {str(metric): _cell(value) for metric, value in entry["metrics"].items()}
    settings = _settings(metadata, key)
    observed = mapping(_settings_entry(metadata, key).get("observed"))
    return Group(
        *key,
        n=_count(entry.get("n_conversations")) or _count(coverage.get("scored")) or 0,
        participants=_count(entry.get("n_participants")),
        expected=_count(coverage.get("expected")),
        unscored={why: listed for why in _REASONS if (listed := strings(coverage.get(why)))},
        sample=_sample(mapping(coverage.get("sample"))),
        answered=values["answered_rate"].mean if "answered_rate" in values else None,
        incomplete=_count(entry.get("composite_incomplete")) or 0,
        judges=_judges(metadata, settings),
        settings=settings,
        conversations=frozenset(ids.get(key, ())),
        models_reported=_counts(observed.get("models_reported")),
        providers_reported=_counts(observed.get("providers_reported")),
        structured_used=_counts(observed.get("structured_used")),
        adapted={str(name): _counts(hows) for name, hows in mapping(observed.get("adapted")).items()},
        values=values,
        by_se=any(mapping(value).get("ci_method") == BY_SE for value in entry["metrics"].values()),
        pooled=mapping(entry.get("pooled")),
    )


def _cell(value: Any) -> Estimate:
    fields = mapping(value)
    low, high = finite(fields.get("ci_low")), finite(fields.get("ci_high"))
    if low == high:
        low = high = None  # of one value, as older versions wrote it: it could not be estimated
    return Estimate(
        mean=finite(fields.get("mean")),
        n=_count(fields.get("n")) or 0,
        se=finite(fields.get("se")),
        ci_low=low,
        ci_high=high,
    )


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _counts(value: Any) -> dict[str, int]:
    """Name → count; what is no count is left out."""
    return {str(name): known for name, raw in mapping(value).items() if (known := _count(raw)) is not None}


def _rank(group: Group) -> tuple[int, str, float, str, str]:
    mode = MODES.index(group.mode) if group.mode in MODES else len(MODES)
    composite = group.values["composite"].mean if "composite" in group.values else None
    return mode, group.mode, math.inf if composite is None else -composite, group.model, group.provider


def _settings(metadata: Mapping[str, Any], key: _Key) -> tuple[Mapping[str, Any], ...]:
    """The distinct settings of a group's results; empty where the scores do not say."""
    variants = _settings_entry(metadata, key).get("variants")
    return tuple(mapping(variant) for variant in variants) if isinstance(variants, list) else ()


def _settings_entry(metadata: Mapping[str, Any], key: _Key) -> Mapping[str, Any]:
    """What the scores say of how a group's results were made; empty where they say nothing."""
    listed = metadata.get("settings")
    entries = [mapping(entry) for entry in listed] if isinstance(listed, list) else []
    return next((entry for entry in entries if _key(entry) == key), {})


def _judges(metadata: Mapping[str, Any], settings: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The group's own judges where its settings say, else those of all scores."""
    own = [judge for variant in settings for judge in judges_named(variant)]
    return tuple(dict.fromkeys(own)) or strings(metadata.get("judges"))
