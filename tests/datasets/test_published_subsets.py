"""The published subsets are known by name and number, and a folder of one is recognised."""

from __future__ import annotations

import pytest

from attunebench.datasets.subsets import published_subsets, recognise, subset_called, subset_file_name
from attunebench.errors import UsageError


def test_each_subset_has_the_size_in_its_name() -> None:
    sizes = {"Sample200": 200, "Subsample100": 100, "Subsample50": 50, "Subsample25": 25, "Subsample20": 20}
    assert sizes == {name: len(numbers) for name, numbers in published_subsets().items()}


def test_number_106_alone_is_outside_the_sample_of_200() -> None:
    sample = published_subsets()["Sample200"]
    assert {106} == {number for numbers in published_subsets().values() for number in numbers} - sample
    assert 106 in published_subsets()["Subsample100"]


@pytest.mark.parametrize("name", ["Sample200", "Subsample100", "Subsample50", "Subsample25", "Subsample20"])
def test_the_files_of_a_subset_are_recognised(name: str) -> None:
    files = [subset_file_name(number) for number in published_subsets()[name]]
    assert name == recognise(files)
    assert recognise(files[1:]) is None
    assert recognise([*files, "other.json"]) is None


def test_names_of_subsets_are_met_in_any_letter_case_and_unknown_ones_are_refused() -> None:
    assert published_subsets()["Subsample20"] == subset_called(" subsample20")[1]
    with pytest.raises(UsageError, match="Subsample25"):
        subset_called("Subsample30")


def test_nothing_is_no_subset() -> None:
    assert recognise([]) is None
