"""Fixtures that several areas share."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from attunebench.selftest.server import FakeServer

# A property is judged by its truth, never by the time that a busy machine takes for an example.
settings.register_profile("untimed", deadline=None)
# CI judges the change at hand, so it draws the same examples every time; runs by hand go on searching.
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "untimed")


@pytest.fixture
def fake_server() -> Iterator[FakeServer]:
    """A running server that answers every call completely; give it a `script` to make it behave otherwise."""
    with FakeServer() as server:
        yield server
