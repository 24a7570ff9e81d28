"""How a sentence for the user gets through Inspect: its own exception for what has to be set right before a run."""

from __future__ import annotations

from inspect_ai._util.error import PrerequisiteError

__all__ = ["PrerequisiteError"]
