"""What the package offers at its top: the functions and nothing else, each loaded when it is first used."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import get_type_hints

import pytest

import attunebench
from attunebench.analyses import Settings
from attunebench.study import AnalysisOptions

FUNCTIONS = [name for name in attunebench.__all__ if inspect.isfunction(getattr(attunebench, name))]


def test_dir_is_the_api() -> None:
    assert sorted(attunebench.__all__) == dir(attunebench)


def test_every_name_is_there() -> None:
    assert all(getattr(attunebench, name) is not None for name in attunebench.__all__)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError):
        attunebench.nothing  # noqa: B018


def test_type_checkers_see_every_name() -> None:
    tree = ast.parse(Path(attunebench.__file__).read_text("utf-8"))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert set(attunebench.__all__) <= imported


def test_importing_the_package_loads_nothing_else_of_it() -> None:
    code = "import sys, attunebench; dir(attunebench); print(*[n for n in sys.modules if n.startswith('attunebench')])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert ["attunebench", "attunebench._version"] == sorted(found)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_says_what_it_does_and_every_parameter_has_a_type(name: str) -> None:
    function = getattr(attunebench, name)
    assert function.__doc__
    parameters = inspect.signature(function).parameters.values()
    assert not [one.name for one in parameters if one.annotation is inspect.Parameter.empty]
    assert inspect.signature(function).return_annotation is not inspect.Signature.empty


def test_the_options_of_analyses_are_the_fields_of_their_settings() -> None:
    assert {one.name for one in fields(Settings)} == set(AnalysisOptions.__annotations__)
    assert get_type_hints(Settings)["alpha"] is float
