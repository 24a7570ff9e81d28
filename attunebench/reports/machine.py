"""Writes a report for programs: JSON with everything, CSV with one line for each section, metric and group.

Numbers are unrounded here; an undefined one is null in JSON and an empty cell in CSV.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict, astuple
from typing import Any

from attunebench.reports.model import Estimate, Group, Reference, Report, Row, Section
from attunebench.text import csv_cell

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
        "references": [_reference(reference) for reference in report.references],
        "sections": [_section(section, report.groups) for section in report.sections],
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def render_csv(report: Report) -> str:
    """A tidy table: a head and one line per section, metric and group."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for section in report.sections:
        for row in section.rows:
            for group, cell in zip(report.groups, row.cells, strict=True):
                line = (*_line(section, row, group, cell), report.rules)
                writer.writerow(csv_cell(value) if isinstance(value, str) else value for value in line)
            for reference, cell in zip(section.references, row.beside, strict=True):
                if cell.mean is not None:
                    line = (*_line(section, row, _as_group(reference), cell), report.rules)
                    writer.writerow(csv_cell(value) if isinstance(value, str) else value for value in line)
    return file.getvalue()


def _line(section: Section, row: Row, group: Group, cell: Estimate) -> tuple[Any, ...]:
    counts = cell.counts or {}
    return (
        *(section.title, row.id, row.label, row.status, group.provider, group.model, group.mode),
        *(cell.mean, cell.n, cell.se, cell.ci_low, cell.ci_high),
        *(counts.get(name) for name in ("tp", "tn", "fp", "fn")),
        *(row.chance, {True: "yes", False: "no", None: ""}[row.higher_is_better]),
        *(group.n, group.expected, group.participants, group.answered, group.incomplete, "; ".join(group.judges)),
        *("; ".join(names) for names in (group.models_reported, group.providers_reported, group.structured_used)),
        "; ".join(f"{parameter}: {how}" for parameter, hows in group.adapted.items() for how in hows),
        *((None, None, None) if group.standing is None else astuple(group.standing)),
    )


def _as_group(reference: Reference) -> Group:
    """In a table of lines a reference is one of a provider of its own, without a mode."""
    return Group("reference", reference.id, "", n=reference.n)


def _reference(reference: Reference) -> dict[str, Any]:
    return {"id": reference.id, "label": reference.label, "meaning": reference.meaning, "n": reference.n}


def _group(group: Group) -> dict[str, Any]:
    return {
        "provider": group.provider,
        "model": group.model,
        "mode": group.mode,
        "scored": group.n,
        "expected": group.expected,
        "unscored": group.unscored,
        "sample": None if group.sample is None else dict(zip(("reached", "seed"), group.sample, strict=True)),
        "participants": group.participants,
        "answered_rate": group.answered,
        "composite_incomplete": group.incomplete,
        "judges": group.judges,
        "settings": group.settings,
        "models_reported": group.models_reported,
        "providers_reported": group.providers_reported,
        "structured_used": group.structured_used,
        "adapted": group.adapted,
        "standing": None if group.standing is None else asdict(group.standing),
    }


def _section(section: Section, groups: tuple[Group, ...]) -> dict[str, Any]:
    return {
        "title": section.title,
        "explanation": section.explanation,
        "notes": section.notes,
        "metrics": [_row(row, groups, section.references) for row in section.rows],
    }


def _row(row: Row, groups: tuple[Group, ...], references: tuple[Reference, ...]) -> dict[str, Any]:
    return {
        "id": row.id,
        "label": row.label,
        "meaning": row.meaning,
        "status": row.status,
        "chance": row.chance,
        "higher_is_better": row.higher_is_better,
        "values": [_value(cell, group) for cell, group in zip(row.cells, groups, strict=True)],
        "references": [
            {"id": reference.id, **_numbers(cell)}
            for cell, reference in zip(row.beside, references, strict=True)
            if cell.mean is not None
        ],
    }


def _value(cell: Estimate, group: Group) -> dict[str, Any]:
    value: dict[str, Any] = {"provider": group.provider, "model": group.model, "mode": group.mode}
    value |= _numbers(cell)
    return value if cell.counts is None else {**value, "counts": dict(cell.counts)}


def _numbers(cell: Estimate) -> dict[str, Any]:
    return {"mean": cell.mean, "n": cell.n, "se": cell.se, "ci_low": cell.ci_low, "ci_high": cell.ci_high}
