"""How a sentence for the user gets through Inspect: its own exception for what has to be set right before a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from inspect_ai._util.error import PrerequisiteError

from attunebench.errors import AttuneBenchError

__all__ = ["PrerequisiteError", "sentences"]


@contextmanager
def sentences() -> Iterator[None]:
    """Raises PrerequisiteError, which Inspect shows without a traceback, for an error of ours in this block."""
    try:
        yield
    except AttuneBenchError as error:
        raise PrerequisiteError(f"attunebench: {error}") from None
