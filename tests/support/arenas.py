"""Simulated arenas whose truth is planted (spec 10.5)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from attunebench.arena.folder import Arena
from attunebench.arena.objects import DIMENSIONS, History, Message, Pair, Reply, ReplyKind, Verdict
from attunebench.arena.table import VerdictTable
from attunebench.statistics.ratings import bradley_terry


def simulated_arena(
    seed: int = 0,
    *,
    strengths: dict[str, float] | None = None,
    kinds: dict[str, ReplyKind] | None = None,
    histories: int = 40,
    pairs: int = 4,
    people: int = 5,
    judges: int = 0,
    pair_noise: float = 0.0,
    judge_noise: float = 0.0,
    tie: float = 0.0,
    adversarial: float = 0.0,
    reply_noise: float = 0.0,
    slot: float = 0.0,
    dimensions: bool = False,
) -> Arena:
    """`pairs` random pairs a history, each seen by `people` raters and, in both orders, by `judges`.

    The log-odds of left are the difference of the authors' `strengths`, plus N(0, `pair_noise`) for each pair; a judge
    sees them with N(0, `judge_noise`) and decides by their sign. `tie`: the share of ties among people;
    `adversarial`: the share of histories in that slice. `reply_noise`: each reply's strength differs from its author's
    by N(0, `reply_noise`). `slot`: what the reply shown first gains, in log-odds, with people. `dimensions`: people say
    which reply is better in each.
    """
    rng = np.random.default_rng(seed)
    strengths = strengths or {f"lab{place}": place / 4 for place in range(4)}
    kinds = kinds or {}
    talks, replies, compared, verdicts = {}, {}, {}, []
    for number in range(histories):
        name = f"h{number:04d}"
        slice = "adversarial" if rng.random() < adversarial else "regular"
        talks[name] = History(id=name, turns=(Message(role="seeker", text=f"I feel {number}."),), slice=slice)
        extra = dict(zip(strengths, rng.normal(0, reply_noise, len(strengths)), strict=True)) if reply_noise else {}
        for author in strengths:
            kind = kinds.get(author, "model")
            replies[name, author] = Reply(history=name, author=author, kind=kind, text=f"{author} to {name}.")
        for at in range(pairs):
            left, right = rng.choice(list(strengths), 2, replace=False)
            pair = Pair(id=f"{name}/{at}", history=name, left=str(left), right=str(right))
            compared[pair.id] = pair
            odds = strengths[pair.left] - strengths[pair.right] + rng.normal(0, pair_noise)
            odds += extra.get(pair.left, 0.0) - extra.get(pair.right, 0.0)
            for rater in range(people):
                luck, order = rng.random(), "left" if rng.random() < 0.5 else "right"
                seen = odds + (slot if order == "left" else -slot)
                won = 1 if luck < 1 / (1 + np.exp(-seen)) else -1
                sides = ["left" if rng.random() < 1 / (1 + np.exp(-seen)) else "right" for _ in DIMENSIONS * dimensions]
                verdicts.append(
                    Verdict(
                        pair=pair.id,
                        rater=f"rater{rater}",
                        rater_kind="human",
                        order=order,
                        preference=0 if rng.random() < tie else won * int(rng.integers(1, 3)),
                        dimensions=dict(zip(DIMENSIONS, sides, strict=False)),
                    )
                )
            for judge in range(judges):
                won = 1 if odds + rng.normal(0, judge_noise) > 0 else -1
                verdicts += [
                    Verdict(pair=pair.id, rater=f"judge{judge}", rater_kind="judge", order=order, preference=won)
                    for order in ("left", "right")
                ]
    return Arena(talks, replies, compared, verdicts)


def heart_arena(seed: int = 0, **rest: Any) -> Arena:
    """An arena of the size of the published study: people and 16 models, 300 histories of 9 pairs, 15 raters."""
    strengths = {"people": 0.0, **{f"model{place:02d}": float(at) for place, at in enumerate(np.linspace(-1.2, 1, 16))}}
    size = {"histories": 300, "pairs": 9, "people": 15, "adversarial": 0.5, "pair_noise": 2.0, "dimensions": True}
    return simulated_arena(seed, strengths=strengths, kinds={"people": "human"}, **{**size, **rest})


def projected(strengths: dict[str, float], noise: float) -> dict[str, float]:
    """The Elo ratings that verdicts tend to: those that fit the win rates averaged over N(0, `noise`) of a pair."""
    points, weights = np.polynomial.hermite_e.hermegauss(60)
    values = np.array(list(strengths.values()))
    odds = (values[:, None] - values[None, :])[..., None] + noise * points
    rates = (1 / (1 + np.exp(-odds)) @ weights) / weights.sum()
    wins = 1e6 * rates * (1 - np.eye(len(values)))
    return dict(zip(strengths, bradley_terry(wins).elo.tolist(), strict=True))


def verdicts_of(arena: Arena, where: Iterable[tuple[str, str]]) -> list[Verdict]:
    """The answered verdicts that a drill of an arena names, by a plain reading of its words."""
    kinds = {author: reply.kind for (_, author), reply in arena.replies.items()}

    def belongs(one: Verdict) -> bool:
        pair = arena.pairs[one.pair]
        authors = {pair.left, pair.right}
        wanted = {
            "author": lambda name: name in authors,
            "against": lambda name: name in authors,
            "kind": lambda name: name in {kinds[author] for author in authors},
            "without": lambda names: not all(kinds[author] in names.split() for author in authors),
            "rater": lambda name: (
                {"people": "human", "judges": "judge"}.get(name) == one.rater_kind or name == one.rater
            ),
            "slice": lambda name: arena.histories[pair.history].slice == name,
            "dimension": lambda name: name in one.dimensions,
        }
        return one.preference is not None and all(wanted[key](name) for key, name in where)

    return [one for one in arena.verdicts if belongs(one)]


def simulated_table(
    seed: int,
    *,
    strengths: dict[str, float],
    kinds: dict[str, ReplyKind] | None = None,
    histories: int = 60,
    pairs: int = 4,
    people: int = 25,
    pair_noise: float = 0.0,
    reply_noise: float = 0.0,
    rater_noise: float = 0.0,
    adversarial: float = 0.0,
) -> VerdictTable:
    """The verdicts of people as in `simulated_arena`, for studies of many arenas: arrays without files.

    `rater_noise`: each rater's taste for each author differs by N(0, `rater_noise`).
    """
    rng, authors, size = np.random.default_rng(seed), len(strengths), histories * pairs
    history = np.repeat(np.arange(histories), pairs)
    left = rng.integers(0, authors, size)
    right = (left + rng.integers(1, authors, size)) % authors
    replies = np.array(list(strengths.values())) + rng.normal(0, reply_noise, (histories, authors))
    odds = replies[history, left] - replies[history, right] + rng.normal(0, pair_noise, size)
    taste = rng.normal(0, rater_noise, (people, authors))
    seen = np.repeat(odds, people) + (taste[:, left] - taste[:, right]).T.ravel()
    won = rng.random(size * people) < 1 / (1 + np.exp(-seen))
    slices = np.where(rng.random(histories) < adversarial, "adversarial", "regular")
    preference = np.where(won, 1.0, -1.0)
    return VerdictTable(
        histories=tuple(f"h{number}" for number in range(histories)),
        units=np.arange(histories),
        slices=tuple(slices.tolist()),
        authors=tuple(strengths),
        kinds=tuple((kinds or {}).get(name, "model") for name in strengths),
        raters=tuple(f"rater{number}" for number in range(people)),
        judges=np.zeros(people, dtype=bool),
        pairs=tuple(f"p{number}" for number in range(size)),
        pair=np.repeat(np.arange(size), people),
        history=np.repeat(history, people),
        left=np.repeat(left, people),
        right=np.repeat(right, people),
        rater=np.tile(np.arange(people), size),
        preference=preference,
        slot=np.where(rng.random(size * people) < 0.5, 1.0, -1.0),
        dimensions=np.full((size * people, len(DIMENSIONS)), np.nan),
        flipped=np.zeros(size * people, dtype=bool),
    )
