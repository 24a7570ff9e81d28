"""What many analyses found, without their tables."""

from __future__ import annotations

import pytest

from attunebench.analyses import Analysis, Cell, Column, Table
from attunebench.reports.analyses import render_findings

TABLE = Table(
    "t", "T", (Column("model", "Model", "text"), Column("n", "conversations", "count")), ((Cell("m"), Cell(31)),)
)
LONG = "; ".join(f"model-{i} is higher than the others: 0.{i}00 [0.1, 0.9]" for i in range(1, 9)) + "."


def analysis(name: str, shows: str, **more: object) -> Analysis:
    return Analysis(name, name.title(), "?", shows, tables=(TABLE,), **more)  # type: ignore[arg-type]


def findings(text: str) -> dict[str, list[str]]:
    """Name → the lines of what it found."""
    found: dict[str, list[str]] = {}
    for line in text.split("─\n")[1].split("\n\n")[0].splitlines():
        name = line[:7].strip()
        found.setdefault(name or [*found][-1], []).append(line[7:].strip())
    return found


@pytest.mark.parametrize("width", [80, 100, 120])
def test_each_has_its_name_n_and_finding_in_three_lines_at_most(width: int) -> None:
    text = render_findings([analysis("long", LONG), analysis("short", "None differs.")], width=width)
    found = findings(text)
    assert "31  None differs." == found["short"][0]
    assert 1 < len(found["long"]) <= 3
    assert found["long"][-1].endswith("…")
    assert max(map(len, text.splitlines())) <= width


def test_a_finding_ends_where_a_clause_ends_and_skips_none() -> None:
    said = f"First is so. {LONG} Nothing else is significant."
    (shown,) = findings(render_findings([analysis("one", said)])).values()
    assert "Nothing else" not in " ".join(shown)
    assert "First is so." in " ".join(shown)


def test_a_sentence_is_said_once_and_a_warning_too() -> None:
    twice = [analysis(name, "Too few. Too few.", warnings=("Beware.",)) for name in ("a", "b")]
    text = render_findings(twice)
    assert 2 == text.count("Too few.")
    assert 1 == text.count("Beware.")


def test_what_could_not_be_made_says_why_and_has_no_n() -> None:
    text = render_findings([Analysis("gone", "Gone", "?", missing="No person answered.")])
    assert "No person answered." in text
    assert "31" not in text


def test_what_models_are_called_cannot_steer_the_terminal() -> None:
    assert "\x1b" not in render_findings([analysis("a", "\x1b[31mred\x1b[0m is best.")])
