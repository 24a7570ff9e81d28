"""Which replies are compared: what each design promises, and that a growing arena loses nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from arenas import simulated_arena
from hypothesis import given
from hypothesis import strategies as st

from attunebench.arena.folder import Arena
from attunebench.arena.objects import Reply
from attunebench.arena.pairs import DesignSettings, choose_pairs, connected
from attunebench.errors import UsageError

PEOPLE = {"anna": "human", "ben": "human"}


def arena(models: int = 6, *, histories: int = 12, people: bool = True, original: bool = True, **more: Any) -> Arena:
    """Replies of models, two people and the original to every history, without pairs."""
    strengths = {f"lab{place}": place / 2 for place in range(models)}
    kinds: dict[str, Any] = dict(PEOPLE) if people else {}
    if original:
        kinds["original"] = "original"
    strengths |= dict.fromkeys(kinds, 1.0)
    made = simulated_arena(0, strengths=strengths, kinds=kinds, histories=histories, **more)
    return made if more else replace(made, pairs={}, verdicts=())


def with_pairs(before: Arena, settings: DesignSettings) -> Arena:
    chosen = choose_pairs(before, settings)
    return replace(before, pairs={**before.pairs, **{one.id: one for one in chosen.pairs}})


def compared(of: Arena) -> Counter[tuple[str, ...]]:
    """Two authors → how often they are compared."""
    return Counter(tuple(sorted((one.left, one.right))) for one in of.pairs.values())


def per_history(of: Arena) -> Counter[str]:
    return Counter(one.history for one in of.pairs.values())


DESIGNS = [DesignSettings(), DesignSettings("heart"), DesignSettings("full"), DesignSettings("full", 5)]


@pytest.mark.parametrize("settings", DESIGNS)
def test_pairs_are_within_a_history_and_none_occurs_twice(settings: DesignSettings) -> None:
    made = with_pairs(arena(), settings)
    keys = [(one.history, *sorted((one.left, one.right))) for one in made.pairs.values()]

    assert len(keys) == len(set(keys))
    assert all({(one.history, one.left), (one.history, one.right)} <= set(made.replies) for one in made.pairs.values())


@pytest.mark.parametrize("settings", DESIGNS)
def test_a_design_is_fixed_by_ids_and_seed(settings: DesignSettings) -> None:
    before = arena()
    turned = replace(before, replies=dict(reversed(before.replies.items())), histories=before.histories)

    assert {*choose_pairs(before, settings).pairs} == {*choose_pairs(turned, settings).pairs}


@pytest.mark.parametrize(
    "settings", [DesignSettings("heart"), DesignSettings("full", 5), DesignSettings("adaptive", 5)]
)
def test_another_seed_chooses_other_pairs(settings: DesignSettings) -> None:
    before = arena(3)

    assert {*choose_pairs(before, settings).pairs} != {*choose_pairs(before, replace(settings, seed=1)).pairs}


@pytest.mark.parametrize("settings", DESIGNS)
def test_a_second_call_adds_nothing(settings: DesignSettings) -> None:
    assert () == choose_pairs(with_pairs(arena(), settings), settings).pairs


@pytest.mark.parametrize("settings", DESIGNS)
@pytest.mark.parametrize("growth", ["author", "history"])
def test_an_arena_that_grows_keeps_its_pairs(settings: DesignSettings, growth: str) -> None:
    whole = arena()
    part = {
        key: reply
        for key, reply in whole.replies.items()
        if (key[1] != "lab3" if growth == "author" else key[0] not in ("h0001", "h0007"))
    }
    before = with_pairs(replace(whole, replies=part), settings)

    after = with_pairs(replace(before, replies=whole.replies), settings)

    assert before.pairs.items() <= after.pairs.items()
    assert len(before.pairs) < len(after.pairs)


@pytest.mark.parametrize("design", ["heart", "full"])
def test_a_new_history_changes_nothing_for_the_others(design: Any) -> None:
    whole = arena()
    part = replace(whole, replies={key: reply for key, reply in whole.replies.items() if key[0] != "h0003"})

    grown, fresh = (with_pairs(one, DesignSettings(design)) for one in (with_pairs(part, DesignSettings(design)), part))

    assert fresh.pairs.items() <= with_pairs(whole, DesignSettings(design)).pairs.items()
    assert fresh.pairs == grown.pairs


def test_the_id_and_the_sides_of_a_pair_do_not_depend_on_design_and_seed() -> None:
    full, heart, other = (
        with_pairs(arena(), settings).pairs
        for settings in (DesignSettings("full"), DesignSettings("heart"), DesignSettings("adaptive", seed=9))
    )

    assert heart.items() <= full.items()
    assert other.items() <= full.items()


def test_each_side_gets_its_share() -> None:
    made = with_pairs(arena(histories=40), DesignSettings("full"))
    first = sum(one.left < one.right for one in made.pairs.values())

    assert 0.45 < first / len(made.pairs) < 0.55


def test_full_compares_everybody() -> None:
    made = with_pairs(arena(), DesignSettings("full"))

    assert 12 * 36 == len(made.pairs)
    assert {12} == set(compared(made).values())


def test_heart_compares_every_model_with_every_person() -> None:
    made = with_pairs(arena(models=3), DesignSettings("heart"))
    counts = compared(made)

    assert {12} == {
        counts[tuple(sorted((person, other)))] for person in PEOPLE for other in ("lab0", "lab2", "original")
    }


def test_heart_fills_up_to_its_mean() -> None:
    made = with_pairs(arena(models=3, histories=400), DesignSettings("heart"))

    assert {9, 10} == set(per_history(made).values())
    assert abs(len(made.pairs) / 400 - 9.3) < 0.1


def test_heart_never_cuts_pairs_with_people() -> None:
    made = with_pairs(arena(), DesignSettings("heart", 4))

    assert {14} == set(per_history(made).values())
    assert all(len({*PEOPLE} & {*two}) == 1 for two in compared(made))


def test_heart_requires_people() -> None:
    with pytest.raises(UsageError):
        choose_pairs(arena(people=False), DesignSettings("heart"))


def test_adaptive_compares_every_model_with_people_and_the_original() -> None:
    counts = compared(with_pairs(arena(), DesignSettings(per_history=30)))

    for place in range(6):
        assert 12 == counts[f"lab{place}", "original"]
        assert 12 == counts["anna", f"lab{place}"] + counts["ben", f"lab{place}"]
        assert 5 <= counts["anna", f"lab{place}"] <= 7
    assert 0 == counts["anna", "ben"]


@pytest.mark.parametrize("limit", [1, 5, 20])
def test_adaptive_keeps_its_limit_in_each_history(limit: int) -> None:
    assert limit >= max(per_history(with_pairs(arena(), DesignSettings(per_history=limit))).values())


def test_adaptive_spreads_a_small_limit_over_all_comparisons() -> None:
    counts = compared(with_pairs(arena(histories=60), DesignSettings(per_history=4)))

    assert max(counts.values()) <= min(counts.values()) + 7
    assert {f"lab{place}" for place in range(6)} <= {author for two in counts for author in two}


def test_adaptive_compares_neighbours_by_the_ratings_so_far() -> None:
    judged = arena(people=False, original=False, pairs=6, histories=60)

    grown = with_pairs(judged, DesignSettings(per_history=8, neighbours=1))
    new = compared(replace(grown, pairs={name: one for name, one in grown.pairs.items() if name not in judged.pairs}))

    assert {1} == {abs(int(one[-1]) - int(other[-1])) for one, other in new}


def test_adaptive_without_anchors_connects_groups_of_neighbours() -> None:
    apart = {"lab0": 0, "lab1": 0.1, "lab2": 8, "lab3": 8.1}
    judged = simulated_arena(0, strengths=apart, histories=60, pairs=6)

    chosen = choose_pairs(judged, DesignSettings(per_history=8, neighbours=1))

    assert (("lab0", "lab1", "lab2", "lab3"),) == chosen.groups


@pytest.mark.parametrize("settings", DESIGNS)
def test_authors_without_a_common_history_are_told(settings: DesignSettings) -> None:
    before = arena(4)
    late = {"lab0", "lab1"}
    apart = {key: one for key, one in before.replies.items() if (key[1] in late) == (key[0] < "h0004")}
    if settings.design == "heart":
        apart |= {key: one for key, one in before.replies.items() if key[1] == "anna" and key[0] < "h0004"}
        apart = {key: one for key, one in apart.items() if key[1] != "anna" or key[0] < "h0004"}

    chosen = choose_pairs(replace(before, replies=apart), settings)

    assert 2 == len(chosen.groups)
    assert chosen.pairs


def test_an_arena_of_one_author_has_no_pairs() -> None:
    before = arena()
    alone = {key: reply for key, reply in before.replies.items() if key[1] == "lab0"}

    with pytest.raises(UsageError):
        choose_pairs(replace(before, replies=alone), DesignSettings())


def test_people_alone_are_compared_too() -> None:
    assert compared(with_pairs(arena(0, original=False), DesignSettings()))[("anna", "ben")] == 12


def test_names_as_long_as_they_may_be_make_ids() -> None:
    long = [Reply(history="h" * 500, author=side * 500, kind="model", text="x") for side in "ab"]
    before = replace(arena(), replies={(one.history, one.author): one for one in long})

    (pair,) = choose_pairs(before, DesignSettings()).pairs

    assert len(pair.id) <= 500


NAMES = st.sampled_from("abcdefg")


@given(st.sets(NAMES, min_size=1), st.lists(st.tuples(NAMES, NAMES), max_size=12))
def test_connected_groups_are_those_of_a_walk_through_the_graph(
    authors: set[str], pairs: list[tuple[str, str]]
) -> None:
    pairs = [two for two in pairs if authors >= {*two}]
    reached = {one: {one} for one in authors}
    for _ in authors:
        for one, other in pairs:
            reached[one] |= reached[other]
            reached[other] |= reached[one]

    groups = connected(authors, pairs)

    assert {frozenset(one) for one in reached.values()} == {frozenset(group) for group in groups}
    assert sorted(authors) == sorted(author for group in groups for author in group)
