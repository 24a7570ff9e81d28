"""Writes a report for programs: JSON with everything, CSV with one line for each section, metric and group.

Numbers are unrounded here; an undefined one is null in JSON and an empty cell in CSV.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, astuple
from typing import Any

from attunebench.reports.analyses.machine import csv_text
from attunebench.reports.model import Estimate, Group, Reference, Report, Row, Section

SCHEMA_VERSION = 1

_COLUMNS = (
    *("section", "metric", "label", "status", "provider", "model", "mode"),
    *("mean", "n", "se", "ci_low", "ci_high", "tp", "tn", "fp", "fn", "chance", "higher_is_better"),
    *("scored", "expected", "participants", "answered_rate", "composite_incomplete", "judges"),
    *("models_reported", "providers_reported", "structured_used", "adapted"),
    *("tier", "best_place", "worst_place", "rules"),
)


def render_json(report: Report) -> str:
    """The table model as JSON in ASCII, so that no name can carry a control character to a terminal."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "title": report.title,
        "rules": report.rules,
        "summary": report.summary,
        "warnings": report.warnings,
        "notes": report.notes,
        "groups": [_group(group) for group in report.groups],
        "references": [{"id": r.id, "label": r.label, "meaning": r.meaning, "n": r.n} for r in report.references],
        "sections": [
            {
                "title": section.title,
                "explanation": section.explanation,
                "notes": section.notes,
                "metrics": [_row(row, report.groups, section.references) for row in section.rows],
            }
            for section in report.sections
        ],
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def render_csv(report: Report) -> str:
    """A tidy table: a head and one line per section, metric and group."""
    lines: list[Sequence[Any]] = [_COLUMNS]
    for section in report.sections:
        # In a table of lines a reference is one of a provider of its own, without a mode.
        others = [Group("reference", reference.id, "", n=reference.n) for reference in section.references]
        for row in section.rows:
            lines += [_line(section, row, *pair) for pair in zip(report.groups, row.cells, strict=True)]
            found = zip(others, row.beside, strict=True)
            lines += [_line(section, row, group, estimate) for group, estimate in found if estimate.mean is not None]
    return csv_text([*lines[:1], *((*line, report.rules) for line in lines[1:])])


def _line(section: Section, row: Row, group: Group, estimate: Estimate) -> tuple[Any, ...]:
    counts = estimate.counts or {}
    return (
        *(section.title, row.id, row.label, row.status, group.provider, group.model, group.mode),
        *(estimate.mean, estimate.n, estimate.se, estimate.ci_low, estimate.ci_high),
        *(counts.get(name) for name in ("tp", "tn", "fp", "fn")),
        *(row.chance, {True: "yes", False: "no", None: ""}[row.higher_is_better]),
        *(group.n, group.expected, group.participants, group.answered, group.incomplete, "; ".join(group.judges)),
        *("; ".join(names) for names in (group.models_reported, group.providers_reported, group.structured_used)),
        "; ".join(f"{parameter}: {how}" for parameter, hows in group.adapted.items() for how in hows),
        *((None, None, None) if group.standing is None else astuple(group.standing)),
    )


def _group(group: Group) -> dict[str, Any]:
    same = ("provider", "model", "mode", "expected", "unscored", "participants", "judges", "settings")
    served = ("models_reported", "providers_reported", "structured_used", "adapted")
    return {
        **{name: getattr(group, name) for name in (*same, *served)},
        "scored": group.n,
        "sample": None if group.sample is None else dict(zip(("reached", "seed"), group.sample, strict=True)),
        "answered_rate": group.answered,
        "composite_incomplete": group.incomplete,
        "standing": None if group.standing is None else asdict(group.standing),
    }


def _row(row: Row, groups: Sequence[Group], references: Sequence[Reference]) -> dict[str, Any]:
    names = ("id", "label", "meaning", "status", "chance", "higher_is_better")
    beside = zip(references, row.beside, strict=True)
    return {
        **{name: getattr(row, name) for name in names},
        "values": [
            {"provider": group.provider, "model": group.model, "mode": group.mode, **_numbers(estimate)}
            for estimate, group in zip(row.cells, groups, strict=True)
        ],
        "references": [{"id": r.id, **_numbers(estimate)} for r, estimate in beside if estimate.mean is not None],
    }


def _numbers(estimate: Estimate) -> dict[str, Any]:
    found = asdict(estimate)
    return found if estimate.counts is not None else {name: found[name] for name in found if name != "counts"}
