"""Verdicts as arrays: two orders merged, several judges as one, several people as one author."""

from __future__ import annotations

import numpy as np
import pytest
from arenas import simulated_arena

from attunebench.arena.folder import Arena
from attunebench.arena.objects import History, Message, Pair, Verdict
from attunebench.arena.table import ALL_PEOPLE, table_of

LAST = Message(role="seeker", text="I feel low.")


def arena_of(*verdicts: Verdict) -> Arena:
    """One history, one pair "p"."""
    pair = Pair(id="p", history="h", left="a", right="b")
    return Arena({"h": History(id="h", turns=(LAST,))}, {}, {"p": pair}, verdicts)


def said(preference, rater="judge", order="left", **rest):
    return Verdict(pair="p", rater=rater, rater_kind="judge", order=order, preference=preference, **rest)


@pytest.mark.parametrize(
    ("orders", "preference", "flipped"),
    [((2, 1), 1.5, False), ((1, -2), 0.0, True), ((1, 0), 0.5, False), ((None, -1), -1.0, False), ((0, 0), 0.0, False)],
)
def test_two_orders_are_their_mean_preference_and_a_flip_is_a_tie(orders, preference, flipped):
    verdicts = [said(one, order=order) for one, order in zip(orders, ("left", "right"), strict=True)]
    merged = table_of(arena_of(*verdicts)).merged()
    assert (merged.preference.tolist(), merged.flipped.tolist()) == ([preference], [flipped])


def test_a_slot_is_known_where_one_order_was_answered():
    one, both = (table_of(arena_of(said(1), said(other, order="right"))).merged().slot.tolist() for other in (None, 1))
    assert (one, both) == ([1.0], [0.0])


def test_nothing_answered_stays_unanswered():
    merged = table_of(arena_of(said(None), said(None, order="right"))).merged()
    assert np.isnan(merged.preference).all()
    assert len(merged.answered()) == 0


@pytest.mark.parametrize(
    ("preferences", "majority", "mean"),
    [
        ((1, 1, -2), 1, 0),
        ((1, -1, 0), 0, 0),
        ((1, 0, 0), 0, 1),
        ((2, -1, None), 0, 1),
        ((-1, -1, 2), -1, 0),
        ((None, None, 1), 1, 1),
    ],
)
def test_several_judges_as_one(preferences, majority, mean):
    table = table_of(arena_of(*(said(one, f"judge{place}") for place, one in enumerate(preferences))))
    assert table.as_one_rater().winner.tolist() == [majority]
    assert table.as_one_rater(mean=True).winner.tolist() == [mean]


def test_dimensions_have_a_majority_of_their_own():
    sides = ("left", "left", "right")
    judges = [said(-1, f"judge{at}", dimensions={"attunement": side}) for at, side in enumerate(sides)]
    one = table_of(arena_of(*judges)).as_one_rater()
    assert one.in_dimension(2).winner.tolist() == [1.0]
    assert np.isnan(one.in_dimension(0).winner).all()


def test_people_as_one_author_have_no_verdicts_among_themselves():
    kinds = {"ann": "human", "bob": "human"}
    table = table_of(simulated_arena(strengths={"ann": 0, "lab": 0, "bob": 0}, kinds=kinds, histories=20))
    one = table.with_people_as_one()
    assert (one.authors, one.kinds) == (("lab", ALL_PEOPLE), ("model", "human"))
    assert set(map(tuple, np.stack([one.left, one.right], axis=1).tolist())) == {(0, 1), (1, 0)}
    among = {"ann", "bob"}
    expected = sum({table.authors[a], table.authors[b]} != among for a, b in zip(table.left, table.right, strict=True))
    assert len(one) == expected


def test_one_person_keeps_their_name():
    table = table_of(simulated_arena(strengths={"ann": 0, "lab": 0}, kinds={"ann": "human"}, histories=5))
    assert table.with_people_as_one().authors == ("ann", "lab")
