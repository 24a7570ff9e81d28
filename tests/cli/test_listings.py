"""Lists of names say what each is, a line each for programs; waiting says nothing where nobody looks."""

from __future__ import annotations

import pytest

from attunebench.cli.emitting import listing, working


def test_a_list_for_a_program_has_a_line_for_each_name_however_long() -> None:
    assert ["a    " + "long " * 60 + "end", "bcd  short"] == listing(
        {"a": "long " * 60 + "end", "bcd": "short"}
    ).splitlines()


def test_a_list_in_a_terminal_breaks_between_words_and_beside_the_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")
    lines = listing({"one": "word " * 20, "three": "end"}).splitlines()
    assert max(map(len, lines)) <= 40
    assert all(line.startswith(("one    ", "three  ", " " * 7)) for line in lines)


def test_no_sign_of_life_is_written_into_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    with working("long work"):
        pass
    assert ("", "") == tuple(capsys.readouterr())
