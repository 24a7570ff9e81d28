"""Evaluations of the real Inspect in this process. Without inspect_ai these tests are skipped, and say so."""

from __future__ import annotations

import gc
import os
import warnings
from pathlib import Path

import pytest
from factory import write_conversations

os.environ["INSPECT_DISPLAY"] = "none"


def pytest_collection_modifyitems(items):
    """What Inspect does with other packages, and leaves open in them, is not ours to be warned of."""
    theirs = (
        "ignore::DeprecationWarning:inspect_ai",
        "ignore::ResourceWarning",
        "ignore::pytest.PytestUnraisableExceptionWarning",
    )
    for item in items:
        if Path(__file__).parent in item.path.parents:
            for warning in theirs:
                item.add_marker(pytest.mark.filterwarnings(warning))


@pytest.fixture(scope="session", autouse=True)
def nothing_left_open():
    """What Inspect leaves open is let go here, and not when pytest looks around at its end, where no mark is heard."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()


@pytest.fixture(scope="session")
def talks(tmp_path_factory) -> Path:
    """A folder of four short conversations, two of each participant."""
    return write_conversations(tmp_path_factory.mktemp("talks"), 4, turns=1)


@pytest.fixture
def evaluated(tmp_path, monkeypatch):
    """Evaluates the task and gives its log: `evaluated(model, task arguments…, of_inspect={…})`."""
    monkeypatch.setenv("INSPECT_CACHE_DIR", str(tmp_path / "cache"))

    def evaluate(model, of_inspect=None, **arguments):
        from inspect_ai import eval as inspect_eval

        from attunebench.harness.inspect_ai.task import attunebench

        options = {"log_dir": str(tmp_path / "logs"), "display": "none", "log_realtime": False, **(of_inspect or {})}
        return inspect_eval(attunebench(**arguments), model=model, **options)[0]

    return evaluate
