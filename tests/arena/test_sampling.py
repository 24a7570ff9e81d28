"""What is resampled: histories, and few raters, but never verdicts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from arenas import simulated_arena

from attunebench.arena.contests import rate
from attunebench.arena.sampling import ArenaSettings, Draws, intervals_text, leading_groups, rater_groups
from attunebench.arena.table import table_of
from attunebench.statistics.bootstrap import resample_weights

SETTINGS = ArenaSettings(resamples=200)


def widths(arena):
    rated = rate(rater_groups(table_of(arena), SETTINGS)[0].table, SETTINGS)
    return np.array([cell.high - cell.low for _, cell in sorted(zip(rated.authors, rated.cells(), strict=True))])


@pytest.mark.parametrize("people", [3, 25])
def test_sums_are_those_of_the_histories_and_raters_drawn(people):
    table, settings = table_of(simulated_arena(people=people, histories=6, pairs=2)), replace(SETTINGS, resamples=3)
    values = np.random.default_rng(1).normal(size=(len(table), 2))
    histories = resample_weights(6, 3, settings.rng("histories")).astype(float)
    raters = resample_weights(people, 3, settings.rng("raters")) if people < 20 else np.ones((3, people))
    weights = histories[:, table.history] * raters[:, table.rater]
    draws = Draws(table, settings)
    assert draws.raters is (people < 20)
    assert draws.sums(values) == pytest.approx(weights @ values)


def test_chance_of_judges_is_not_resampled():
    table = table_of(simulated_arena(people=0, judges=3))
    assert not Draws(table, SETTINGS).raters
    assert "raters" not in intervals_text(table, SETTINGS)


def test_the_same_verdicts_from_twice_as_many_raters_narrow_no_interval():
    # With verdicts resampled they would be narrower by a factor of √2.
    arena = simulated_arena(3, people=25, pairs=2, pair_noise=2.0)
    clones = [one.model_copy(update={"rater": f"{one.rater} again"}) for one in arena.verdicts]
    twice = replace(arena, verdicts=[*arena.verdicts, *clones])
    assert widths(twice) / widths(arena) == pytest.approx(1.0, abs=0.05)


def in_conversations(arena, every=2):
    """With copies of each history and its verdicts, as turns of one conversation."""
    histories, pairs, verdicts = {}, {}, []
    for copy in range(every):
        for name, one in arena.histories.items():
            histories[f"{name}/{copy}"] = one.model_copy(update={"id": f"{name}/{copy}", "conversation": name})
        for name, one in arena.pairs.items():
            changed = {"id": f"{name}/{copy}", "history": f"{one.history}/{copy}"}
            pairs[changed["id"]] = one.model_copy(update=changed)
        verdicts += [one.model_copy(update={"pair": f"{one.pair}/{copy}"}) for one in arena.verdicts]
    return replace(arena, histories=histories, replies={}, pairs=pairs, verdicts=verdicts)


def apart(arena):
    """The same as histories of their own."""
    histories = {name: one.model_copy(update={"conversation": ""}) for name, one in arena.histories.items()}
    return replace(arena, histories=histories)


def test_more_turns_of_the_same_conversations_narrow_no_interval():
    arena = simulated_arena(3, people=25, pairs=3, pair_noise=2.0)
    turns = in_conversations(arena)
    assert widths(turns) / widths(arena) == pytest.approx(1.0, abs=0.05)
    assert np.mean(widths(apart(turns)) / widths(arena)) == pytest.approx(0.5**0.5, abs=0.1)


@pytest.mark.parametrize(("conversations", "few"), [(19, True), (20, False)])
def test_too_few_are_conversations(conversations, few):
    arena = in_conversations(simulated_arena(histories=conversations, strengths={"a": 0, "b": 0}))
    rated = rate(rater_groups(table_of(arena), SETTINGS)[0].table, SETTINGS)
    assert ({cell.small for cell in rated.cells()}, rated.units.tolist()) == ({few}, [conversations] * 2)


def test_a_conversation_is_no_history_of_the_same_name():
    arena = simulated_arena(histories=3)
    first, second, third = arena.histories.values()
    histories = [first, second.model_copy(update={"conversation": first.id}), third]
    table = table_of(replace(arena, histories={one.id: one for one in histories}))
    assert table.units.tolist() == [0, 1, 2]


def test_one_history_has_no_interval():
    table = table_of(simulated_arena(histories=1, pairs=12))
    cells = rate(rater_groups(table, SETTINGS)[0].table, SETTINGS).cells()
    assert {(cell.low, cell.high) for cell in cells} == {(None, None)}


def test_groups_of_raters_are_people_all_judges_and_each_judge():
    table = table_of(simulated_arena(judges=2))
    groups = rater_groups(table, SETTINGS)
    assert [group.key for group in groups] == ["people", "judges", "judge0", "judge1"]
    assert [group.key for group in leading_groups(groups)] == ["people", "judges"]


@pytest.mark.parametrize(
    ("people", "judges", "keys"), [(2, 1, ["people", "judge0"]), (0, 1, ["judge0"]), (1, 0, ["people"])]
)
def test_an_only_judge_leads(people, judges, keys):
    groups = rater_groups(table_of(simulated_arena(people=people, judges=judges)), SETTINGS)
    assert [group.key for group in leading_groups(groups)] == keys


def test_raters_without_an_answer_are_no_group():
    arena = simulated_arena(people=1, judges=1)
    mute = [one.model_copy(update={"preference": None}) if one.rater_kind == "judge" else one for one in arena.verdicts]
    assert [group.key for group in rater_groups(table_of(replace(arena, verdicts=mute)), SETTINGS)] == ["people"]
