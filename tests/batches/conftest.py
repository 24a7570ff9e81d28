"""A folder with a plan in it, and an engine that answers from the plan's files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from factory import write_conversations
from planned import CONVERSATIONS, TURNS, Planning
from pydantic import SecretStr

from attunebench import api
from attunebench.batches.files import PlanSummary
from attunebench.runner import ModelSettings, RunSettings


@pytest.fixture(scope="session")
def talks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two conversations of two turns."""
    return write_conversations(tmp_path_factory.mktemp("talks") / "data", CONVERSATIONS, seed=3, turns=TURNS)


@pytest.fixture
def planning(talks: Path, tmp_path: Path) -> Planning:
    """`planning(judges=["j"], …)`: plans a run of model `m` into tmp_path/requests.jsonl and tmp_path/results."""

    def call(*, judges: Sequence[str] = (), url: str | None = None, data: Path = talks, **options: Any) -> PlanSummary:
        def local(model: str) -> ModelSettings:
            return ModelSettings(provider="local", model=model, base_url=url, api_key=key)

        key = SecretStr(options.pop("key", "none-at-all"))
        apart = {name: options.pop(name) for name in ("limits", "new_only") if name in options}
        target = options.pop("target", tmp_path / "requests.jsonl")
        settings = RunSettings(
            em=local("m"), judges=tuple(map(local, judges)), **{"output": tmp_path / "results", **options}
        )
        return api.plan(data, settings, target, **apart)

    return call
