"""The keys of a result file are written down in `results` alone, spellings of values in `coerce` alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import attunebench

PACKAGE = Path(attunebench.__file__).parent
SPELLINGS = ({"yes", "y", "true"}, {"no", "n", "false"}, {"mild", "intense"}, {"response_1", "a", "A"})


def trees(*words: str) -> Iterator[tuple[str, ast.Module]]:
    """Place in the package → the syntax tree, of each module that holds one of these."""
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text("utf-8")
        if any(word in text for word in words):
            yield path.relative_to(PACKAGE).as_posix(), ast.parse(text)


@pytest.mark.slow
def test_no_key_of_a_result_that_begins_with_em_is_spelled_out_elsewhere() -> None:
    spelled = [
        f"{place}:{node.lineno} {node.value}"
        for place, tree in trees('"em_')
        if not place.startswith("results/")
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.startswith("em_")
        and node.value != "em_model"
    ]
    assert [] == spelled


def members(node: ast.AST) -> set[object]:
    """The constants among the keys of a dict, or the elements of a set, list or tuple."""
    elements: list[ast.expr | None] = []
    if isinstance(node, ast.Dict):
        elements = list(node.keys)
    elif isinstance(node, (ast.Set, ast.Tuple, ast.List)):
        elements = list(node.elts)
    return {element.value for element in elements if isinstance(element, ast.Constant)}


@pytest.mark.slow
def test_no_second_table_of_spellings_stands_beside_coerce() -> None:
    # The words of intensity are a public constant, which `coerce` reads.
    tables = [
        f"{place}:{node.lineno}"
        for place, tree in trees(*(f'"{word}"' for word in set.union(*SPELLINGS)))
        if place not in ("coerce.py", "constants.py")
        for node in ast.walk(tree)
        if any(len(spellings & members(node)) > 1 for spellings in SPELLINGS)
    ]
    assert [] == tables
