"""Simulated arenas whose truth is planted (spec 10.5)."""

from __future__ import annotations

import numpy as np

from attunebench.arena.folder import Arena
from attunebench.arena.objects import History, Message, Pair, Reply, ReplyKind, Verdict


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
) -> Arena:
    """`pairs` random pairs a history, each seen by `people` raters and, in both orders, by `judges`.

    The log-odds of left are the difference of the authors' `strengths`, plus N(0, `pair_noise`) for each pair; a judge
    sees them with N(0, `judge_noise`) and decides by their sign. `tie`: the share of ties among people;
    `adversarial`: the share of histories in that slice.
    """
    rng = np.random.default_rng(seed)
    strengths = strengths or {f"lab{place}": place / 4 for place in range(4)}
    kinds = kinds or {}
    talks, replies, compared, verdicts = {}, {}, {}, []
    for number in range(histories):
        name = f"h{number:04d}"
        slice = "adversarial" if rng.random() < adversarial else "regular"
        talks[name] = History(id=name, turns=(Message(role="seeker", text=f"I feel {number}."),), slice=slice)
        for author in strengths:
            kind = kinds.get(author, "model")
            replies[name, author] = Reply(history=name, author=author, kind=kind, text=f"{author} to {name}.")
        for at in range(pairs):
            left, right = rng.choice(list(strengths), 2, replace=False)
            pair = Pair(id=f"{name}/{at}", history=name, left=str(left), right=str(right))
            compared[pair.id] = pair
            odds = strengths[pair.left] - strengths[pair.right] + rng.normal(0, pair_noise)
            for rater in range(people):
                won = 1 if rng.random() < 1 / (1 + np.exp(-odds)) else -1
                verdicts.append(
                    Verdict(
                        pair=pair.id,
                        rater=f"rater{rater}",
                        rater_kind="human",
                        order="left" if rng.random() < 0.5 else "right",
                        preference=0 if rng.random() < tie else won * int(rng.integers(1, 3)),
                    )
                )
            for judge in range(judges):
                won = 1 if odds + rng.normal(0, judge_noise) > 0 else -1
                verdicts += [
                    Verdict(pair=pair.id, rater=f"judge{judge}", rater_kind="judge", order=order, preference=won)
                    for order in ("left", "right")
                ]
    return Arena(talks, replies, compared, verdicts)
