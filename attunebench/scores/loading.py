"""Scores files → a study. Refuses what cannot be one study, in a sentence; older files give what they hold.

Everything that is read here has passed `require_shape`, so that neither this file nor analyses test for odd values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, cast

import numpy as np

from attunebench.constants import MODES
from attunebench.errors import DataError
from attunebench.published import mixed_rules, rules_of
from attunebench.scores import ConversationEntry, GroundTruthEntry, Scores, read_scores
from attunebench.scores.checks import group_key, require_shape
from attunebench.scores.table import Group, ReferenceValues, ScoreTable
from attunebench.text import levelled, printable

_Key = tuple[str, str, str]
_LONGEST_LABEL = 100
_KINDS = ("model", "human", "baseline", "oracle")


def load_scores(paths: str | Path | Sequence[str | Path]) -> ScoreTable:
    """One study of one or more scores files. DataError: unreadable, two files that hold the same model and mode."""
    listed = [paths] if isinstance(paths, (str, Path)) else list(paths)
    return score_table([read_scores(path) for path in listed], files=[str(path) for path in listed])


def score_table(
    scores: Scores | Mapping[str, Any] | Sequence[Scores | Mapping[str, Any]], *, files: Sequence[str] = ()
) -> ScoreTable:
    """One study of the content of scores files.

    Conversations are the union of all files, in the order of the first that has them. DataError where a file holds what
    no study can read, where files follow different rules, where two hold the same provider, model and mode, or none
    holds a result.
    """
    parts = [cast(Scores, part) for part in ([scores] if isinstance(scores, Mapping) else scores)]
    for position, part in enumerate(parts):
        require_shape(part, files[position] if position < len(files) else "The scores file")
    if len({rules_of(part["metadata"]) for part in parts}) > 1:
        raise DataError(mixed_rules(parts, files))
    entries: dict[tuple[_Key, str], list[ConversationEntry]] = {}
    owner: dict[_Key, int] = {}
    aggregates: dict[_Key, Mapping[str, Any]] = {}
    truth: dict[str, GroundTruthEntry] = {}
    relabelled: dict[int, list[str]] = {}
    ids: dict[str, None] = {}
    for position, part in enumerate(parts):
        for held in (*part["aggregates"], *part["conversations"]):
            key = group_key(held)
            if owner.setdefault(key, position) != position:
                raise DataError(_twice(key, files, owner[key], position))
        aggregates |= {group_key(aggregate): aggregate for aggregate in part["aggregates"]}
        for fact in part.get("ground_truth") or ():
            ids.setdefault(fact["conversationId"])
            if not _same_labels(truth.setdefault(fact["conversationId"], fact), fact):
                relabelled.setdefault(position, []).append(fact["conversationId"])
        for entry in part["conversations"]:
            ids.setdefault(entry["conversationId"])
            entries.setdefault((group_key(entry), entry["conversationId"]), []).append(entry)
    if not entries and any("published" in part["metadata"] for part in parts):
        raise DataError(
            "This file of the released scorer holds aggregates only, so nothing can be tested; `attune-bench report` "
            "shows it."
        )
    if not entries:
        raise DataError(
            "The scores contain no conversation, so there is nothing to compute. Run `attune-bench score` again."
        )
    order = tuple(ids)
    return ScoreTable(
        ids=order,
        groups=_groups(owner, entries),
        entries={key: tuple(found) for key, found in entries.items()},
        ground_truth=truth,
        questions=_questions(parts, files),
        references=_references(parts, order),
        metadata=tuple(part["metadata"] for part in parts),
        files=tuple(files),
        aggregates=aggregates,
        relabelled={position: tuple(found) for position, found in relabelled.items()},
        unlabelled=frozenset(position for position, part in enumerate(parts) if not part.get("ground_truth")),
    )


def _same_labels(one: GroundTruthEntry, other: GroundTruthEntry) -> bool:
    """Whether scores on either are scores on the same labels; what is told of the person may differ."""
    return one is other or all(one[part] == other[part] for part in ("turns", "wide", "pre_panas", "post_panas"))


def _groups(owner: Mapping[_Key, int], entries: Iterable[tuple[_Key, str]]) -> tuple[Group, ...]:
    """Display order: the primary mode first, models before people before baselines, then by name."""
    scored = {key for key, _ in entries}
    labels = _labels({key[:2] for key in scored})
    groups = [Group(*key, label=labels[key[:2]], source=owner[key]) for key in scored]
    return tuple(sorted(groups, key=_display))


def _labels(models: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """(provider, model) → its label: the model's name, with the provider where two share it, with a number in need.

    Names are text of strangers: what steers a terminal is taken out, and what fills a screen is cut.
    """
    names = {
        key: printable(key[1], _LONGEST_LABEL) if levelled(printable(key[1])).strip() else "(no name)"
        for key in sorted(models)
    }
    shared = Counter(names.values())
    labels: dict[tuple[str, str], str] = {}
    for key, name in names.items():
        wanted = name if shared[name] == 1 else f"{name} ({printable(key[0], _LONGEST_LABEL)})"
        taken = set(labels.values())
        numbered = (f"{wanted} #{number}" for number in count(2))
        labels[key] = wanted if wanted not in taken else next(label for label in numbered if label not in taken)
    return labels


def _display(group: Group) -> tuple[int, str, int, str, str]:
    mode = MODES.index(group.mode) if group.mode in MODES else len(MODES)
    return mode, group.mode, _KINDS.index(group.kind), group.model.casefold(), group.provider


def _questions(parts: Sequence[Scores], files: Sequence[str]) -> tuple[str, ...]:
    known = {tuple(part["questions"]) for part in parts if part.get("questions")}
    if len(known) > 1:
        raise DataError(
            f"The scores files {', '.join(files) or 'given'} have different questions; score all results with one "
            "version."
        )
    return next(iter(known), ())


def _references(parts: Sequence[Scores], ids: Sequence[str]) -> tuple[ReferenceValues, ...]:
    """Those of the first file that has some: they come from the ground truth, which the files share."""
    rows = {conversation: row for row, conversation in enumerate(ids)}
    found = []
    for reference in next((listed for part in parts if (listed := part.get("references"))), ()):
        values: dict[str, Any] = {name: np.full(len(ids), np.nan) for name in reference["metrics"]}
        for entry in reference["conversations"]:
            if entry["conversationId"] not in rows:
                continue
            for name, value in entry["metrics"].items():
                if name in values and value is not None:
                    values[name][rows[entry["conversationId"]]] = value
        found.append(ReferenceValues(reference["id"], reference["label"], reference["meaning"], values))
    return tuple(found)


def _twice(key: _Key, files: Sequence[str], first: int, second: int) -> str:
    where = f" ({files[first]} and {files[second]})" if len(files) > max(first, second) else ""
    return f"Two scores files{where} both hold {key[1]} of {key[0]} in mode {key[2]}; pass only one of them."
