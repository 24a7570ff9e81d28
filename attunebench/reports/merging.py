"""Scores of several files as one, to be shown in one table. Refuses what cannot stand side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attunebench.errors import DataError
from attunebench.published import mixed_rules, rules_of
from attunebench.scores.audits import AUDITS
from attunebench.scores.checks import group_key, require_shape


def merged_scores(parts: Sequence[Mapping[str, Any]], files: Sequence[str]) -> Mapping[str, Any]:
    """Several scores as one; a single one is passed on as it is. `files` are their names.

    DataError where one holds what no table can show, where they follow different rules, were scored on different
    conversations, or hold the same model and mode. `z_score`, which is of the models of one file, is left out.
    """
    if len(parts) == 1:
        return parts[0]
    for part, file in zip(parts, files, strict=True):
        require_shape(part, file)
    metadata = [part["metadata"] for part in parts]
    if len({rules_of(one) for one in metadata}) > 1:
        raise DataError(mixed_rules(parts, files))
    if len({sha for one in metadata if (sha := one.get("ground_truth_sha256"))}) > 1:
        raise DataError(
            f"{' and '.join(files)} were scored on different conversations or labels; score all results on the same "
            "data."
        )
    owners: dict[tuple[str, str, str], str] = {}
    aggregates = []
    left_out: dict[str, list[Any]] = {}
    for part, file in zip(parts, files, strict=True):
        for aggregate in part["aggregates"]:
            key = group_key(aggregate)
            if owners.setdefault(key, file) != file:
                raise DataError(f"{owners[key]} and {file} both contain {key[1]} ({key[2]}); pass only one of them.")
            kept = {name: value for name, value in aggregate["metrics"].items() if name != "z_score"}
            aggregates.append({**aggregate, "metrics": kept})
        for why, entries in part.get("left_out", {}).items():
            left_out.setdefault(why, []).extend(entries)
    # What is said of the whole comes from the first file of ours, if there is one: the released scorer tells little.
    first = min(parts, key=lambda part: "published" in part["metadata"])
    joined = {
        key: [entry for one in metadata for entry in one.get(key) or ()] for key in ("settings", "published", AUDITS)
    }
    return {
        **first,
        "metadata": {**first["metadata"], **{key: entries for key, entries in joined.items() if entries}},
        "conversations": [entry for part in parts for entry in part["conversations"]],
        "aggregates": aggregates,
        "left_out": left_out,
    }
