"""How large the plans of the tests of batches are, and what makes them."""

from __future__ import annotations

from collections.abc import Callable

from attunebench.batches.files import PlanSummary

TURNS = 2
CONVERSATIONS = 2
PER_CONVERSATION = 4 * TURNS + 1
"""Calls to the evaluated model."""
Planning = Callable[..., PlanSummary]
