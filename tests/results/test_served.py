"""When a name that a server gives means another model than was asked."""

from __future__ import annotations

import pytest

from attunebench.results.schema import is_same, worth_telling


@pytest.mark.parametrize(
    ("asked", "reported"),
    [
        ("m", "m"),
        ("openai/gpt-4o", "gpt-4o-2024-08-06"),
        ("gpt-4", "gpt-4-0613"),
        ("vendor/m:free", "Vendor/M"),
        ("claude-sonnet-latest", "claude-sonnet-20250514"),
        ("m", "m@001"),
    ],
)
def test_a_vendor_a_tag_a_case_and_a_version_make_no_other_model(asked: str, reported: str) -> None:
    assert is_same(asked, reported)


@pytest.mark.parametrize(
    ("asked", "reported"), [("gpt-4", "gpt-4o"), ("gpt-5", "gpt-5-mini"), ("llama-3", "llama-3-70b"), ("a", "b")]
)
def test_another_size_or_kind_is_another_model(asked: str, reported: str) -> None:
    assert not is_same(asked, reported)


def test_two_versions_of_the_right_model_are_worth_telling() -> None:
    assert ("m-0613", "m-1106") == worth_telling("m", ["m-0613", "m-1106"])
    assert () == worth_telling("m", ["m", "vendor/m"])
    assert () == worth_telling("m", [])
