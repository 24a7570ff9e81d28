"""Modes in all the ways that people write them."""

from __future__ import annotations

import pytest

from attunebench.errors import UsageError
from attunebench.protocol.modes import MODES, is_omniscient, is_verbose, parse_modes


@pytest.mark.parametrize(
    ("words", "modes"),
    [
        (["default"], ("default",)),
        (["verbose", "default"], ("default", "verbose")),
        (["default,verbose"], ("default", "verbose")),
        (["omniscient, verbose_omniscient", "omniscient"], ("omniscient", "verbose_omniscient")),
        (["ALL"], MODES),
        ("verbose", ("verbose",)),
    ],
)
def test_a_choice_of_modes_is_canonical(words: list[str] | str, modes: tuple[str, ...]) -> None:
    assert modes == parse_modes(words)


@pytest.mark.parametrize("words", [["defualt"], ["default", "everything"], []])
def test_what_is_no_mode_is_refused_with_the_known_ones(words: list[str]) -> None:
    with pytest.raises(UsageError, match="default, verbose, omniscient, verbose_omniscient"):
        parse_modes(words)


def test_each_mode_adds_what_its_name_says() -> None:
    assert [False, True, False, True] == [is_verbose(mode) for mode in MODES]
    assert [False, False, True, True] == [is_omniscient(mode) for mode in MODES]
