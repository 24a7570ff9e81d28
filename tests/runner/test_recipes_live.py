"""Every recipe of tests/cases/reports through `run`: what people who run evaluations met, and how it has to end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import recipe_endings_bodies
import recipe_endings_servers
from recipe_endings import Ending, expected, what_came
from recipe_server import DATA, RECIPES, RecipeServer

if TYPE_CHECKING:
    from conftest import Command

ENDINGS = (*recipe_endings_servers.ENDINGS, *recipe_endings_bodies.ENDINGS)
PENDING = (*recipe_endings_servers.PENDING, *recipe_endings_bodies.PENDING)


@pytest.mark.slow
@pytest.mark.parametrize("ending", [pytest.param(each, id=each.recipe) for each in ENDINGS])
def test_a_run_against_the_recipe_ends_as_its_row_says(ending: Ending, command: Command, tmp_path: Path) -> None:
    with RecipeServer(ending.recipe) as server:
        ended = command(server, *ending.options, data=DATA)
    folder = tmp_path / "results"
    results = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("[!_]*.json"))]
    lists = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("_skipped_*.json")]
    skipped = [entry for each in lists for entry in each["skipped"]]
    assert what_came(ending, ended.status, server.chats, results, skipped) == expected(ending), ended.read
    assert [word for word in ending.reads if word not in ended.read] == [], ended.read
    assert [word for word in ending.unread if word in ended.read] == [], ended.read


def test_every_recipe_stands_once_in_the_tables() -> None:
    assert sorted([*PENDING, *(each.recipe for each in ENDINGS)]) == sorted(
        path.stem for path in RECIPES.glob("*.json")
    )
