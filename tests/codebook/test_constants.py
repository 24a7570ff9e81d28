"""The importable names agree with the codebook and with the types."""

from __future__ import annotations

from typing import get_args

from attunebench import constants
from attunebench.codebook import default_codebook
from attunebench.conversations.schema import Variant
from attunebench.protocol.calls import Mode


def test_the_closed_lists_are_those_of_the_types() -> None:
    assert get_args(Mode) == constants.MODES
    assert get_args(Variant) == constants.REPLY_VARIANTS


def test_texts_of_both_stances_come_from_the_codebook() -> None:
    b13 = default_codebook().binary["B13"]
    assert b13.observer_text == constants.BINARY_QUESTION_TEXT["B13"]
    assert b13.text == constants.BINARY_HP_QUESTION_TEXT["B13"]
    assert "using" == constants.BINARY_CATEGORY["B13"]


def test_the_similarity_is_a_square_of_twenty() -> None:
    assert set(constants.PANAS_ITEMS) == set(constants.PANAS_SIMILARITY)
    assert all(set(constants.PANAS_ITEMS) == set(row) for row in constants.PANAS_SIMILARITY.values())


def test_negative_fits_are_the_last_two_options() -> None:
    assert constants.Q3_OPTIONS[2:] == constants.Q3_NEGATIVE
    assert (7, 4, 4) == (len(constants.Q1_OPTIONS), len(constants.Q2_OPTIONS), len(constants.Q3_OPTIONS))
