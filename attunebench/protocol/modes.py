"""The four modes: their names, what each adds, and how people may write a choice of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from attunebench.errors import UsageError
from attunebench.protocol.calls import Mode

MODES: tuple[Mode, ...] = get_args(Mode)


def is_verbose(mode: Mode) -> bool:
    """Whether a short reasoning is asked for before each prediction."""
    return mode.startswith("verbose")


def is_omniscient(mode: Mode) -> bool:
    """Whether the model is told who the participant is and how they felt before."""
    return mode.endswith("omniscient")


def parse_modes(words: str | Iterable[str]) -> tuple[Mode, ...]:
    """The modes that `words` name, each once, in the order of `MODES`.

    A word is a mode, several with commas between, or `all`; case does not matter. Raises UsageError for any other
    word, and where nothing is named.
    """
    texts = (words,) if isinstance(words, str) else tuple(words)
    named = {part.strip().lower() for text in texts for part in text.replace(",", " ").split()}
    known = f"the modes are {', '.join(MODES)}, or all"
    unknown = sorted(named - {*MODES, "all"})
    if unknown:
        raise UsageError(f"There is no mode {', '.join(unknown)}; {known}.")
    if not named:
        raise UsageError(f"No mode is named; {known}.")
    return tuple(mode for mode in MODES if mode in named or "all" in named)
