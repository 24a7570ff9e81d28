"""The renderer fills exactly the holes of a template, once, and looks at no value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunebench.prompts import prompt_set_sha256, render, template_names

TEMPLATES = {
    "background",
    "binary_hp",
    "draft",
    "judge",
    "judge_system",
    "mood",
    "pairwise",
    "post",
    "profile",
    "reask",
    "review",
    "system",
    "transcript",
    "turn",
}


def test_every_template_is_found_by_its_file_name() -> None:
    assert set(template_names()) == TEMPLATES


def test_a_missing_value_is_refused() -> None:
    with pytest.raises(ValueError, match="turn"):
        render("turn", {"replied": True}, number="1", message="m")


def test_an_unknown_value_is_refused() -> None:
    with pytest.raises(ValueError, match="more"):
        render("draft", {"verbose": False}, number="1", more="x")


def test_an_unknown_condition_is_refused() -> None:
    with pytest.raises(ValueError, match="loud"):
        render("draft", {"verbose": False, "loud": True}, number="1")


def test_lines_stand_only_where_their_condition_holds() -> None:
    assert "reasoning" in render("draft", {"verbose": True}, number="1")
    assert "reasoning" not in render("draft", {"verbose": False}, number="1")


@given(st.text())
def test_nothing_inside_a_value_is_expanded(text: str) -> None:
    tricky = f"{text}{{{{number}}}}\n[replied] {{{{reply}}}}\n[!replied] x"
    assert f"Turn 1\n{tricky}\n{tricky}" == render("turn", {"replied": True}, number="1", message=tricky, reply=tricky)


def test_the_digest_names_one_set_of_prompts() -> None:
    assert 64 == len(prompt_set_sha256())
    assert prompt_set_sha256() == prompt_set_sha256()
