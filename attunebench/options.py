"""A field of a settings model is also the one declaration of its command-line option: help, panel and how it shows."""

from __future__ import annotations

from functools import partial
from typing import Any

from pydantic import Field

OF_A_SEED: dict[str, Any] = {"ge": -(2**63), "lt": 2**63}
"""Larger seeds could not be read back from a result file."""


def option(
    default: Any,
    help: str,
    panel: str,
    *,
    rare: bool = False,
    metavar: str | None = None,
    shown: str | None = None,
    **bounds: Any,
) -> Any:
    """A field that is also an option of every command that takes these settings.

    `help` and `panel` are what `--help` says of it and among which others; `rare` ones are shown by `--help-all`.
    `shown` describes the default where None says too little.
    """
    extra: dict[str, Any] = {"panel": panel, "rare": rare, "metavar": metavar, "shown": shown}
    return Field(default=default, description=help, json_schema_extra=extra, **bounds)


rare = partial(option, rare=True)
price = partial(option, None, panel="Limits and cost", metavar="USD", shown="listed", ge=0)
