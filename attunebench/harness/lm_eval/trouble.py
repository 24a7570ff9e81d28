"""How a sentence for the user gets through lm-evaluation-harness, which has no exception for one.

A caller of the framework in Python gets the exception as it is; only what nobody catches ends as its sentence alone.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from attunebench.errors import AttuneBenchError

_framework = logging.getLogger("lm_eval")
_before = sys.excepthook


@contextmanager
def sentences() -> Iterator[None]:
    """Errors of ours that leave this block, and then the program, are shown without their traceback."""
    try:
        yield
    except AttuneBenchError:
        if sys.excepthook is not _last_words:
            global _before
            _before, sys.excepthook = sys.excepthook, _last_words
        raise


def _last_words(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    # Who debugs the framework (LMEVAL_LOG_LEVEL=debug) wants to see the way here.
    if isinstance(error, AttuneBenchError) and not _framework.isEnabledFor(logging.DEBUG):
        print(f"attunebench: {error}", file=sys.stderr)
    else:
        _before(kind, error, trace)
