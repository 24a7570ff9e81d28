"""Simulated arenas whose judge is swayed by planted log-odds, beside people who are not."""

from __future__ import annotations

import numpy as np

from attunebench.arena.folder import Arena
from attunebench.arena.objects import History, Message, Pair, Reply, Verdict

JUDGE = "lab0/judge"
STRENGTHS = {"lab0/small": 0.2, "lab0/large": 0.9, "lab1/x": 0.0, "lab2/y": 0.5, "lab3/z": -0.6, "lab4/w": 1.0}


def swayed_arena(
    seed: int = 0,
    *,
    first: float = 0.0,
    length: float = 0.0,
    markdown: float = 0.0,
    family: float = 0.0,
    sharpness: float = 1.0,
    pair_noise: float = 0.0,
    tie: float = 0.0,
    histories: int = 60,
    pairs: int = 5,
    people: int = 3,
) -> Arena:
    """Pairs at random, each seen by `people` and, in both orders, by one judge of family lab0.

    The judge's log-odds of left are the difference of strengths times `sharpness`, plus `first` where left stands
    first, `length` for each doubling, `markdown` and `family` where left alone has it. `tie`: its share of ties;
    `pair_noise`: the sd of what a pair adds to the strengths, for people and the judge. Better authors write longer
    replies, so that length is not told from strength by the means of authors.
    """
    rng = np.random.default_rng(seed)
    names = list(STRENGTHS)
    told, replies, compared, verdicts = {}, {}, {}, []

    def verdict(pair, rater, kind, order, odds, tie=0.0):
        won = 1 if rng.random() < 1 / (1 + np.exp(-odds)) else -1
        won = 0 if rng.random() < tie else won
        verdicts.append(Verdict(pair=pair.id, rater=rater, rater_kind=kind, order=order, preference=won))

    for number in range(histories):
        name = f"h{number:04d}"
        told[name] = History(id=name, turns=(Message(role="seeker", text="I feel low."),))
        size, marked = {}, {}
        for author in names:
            size[author] = int(np.exp2(rng.normal(7 + STRENGTHS[author], 1.0))) + 4
            marked[author] = bool(rng.random() < 0.4)
            start = "**x** " if marked[author] else "x "
            text = start + "x" * (size[author] - 2)
            replies[name, author] = Reply(
                history=name, author=author, kind="model", family=author.partition("/")[0], text=text
            )
        for at in range(pairs):
            left, right = (names[one] for one in rng.choice(len(names), 2, replace=False))
            pair = compared[f"{name}/{at}"] = Pair(id=f"{name}/{at}", history=name, left=left, right=right)
            strength = STRENGTHS[left] - STRENGTHS[right] + rng.normal(0, pair_noise)
            swayed = (
                strength * sharpness
                + length * np.log2(size[left] / size[right])
                + markdown * (marked[left] - marked[right])
                + family * (left.startswith("lab0/") - right.startswith("lab0/"))
            )
            for rater in range(people):
                verdict(pair, f"person{rater}", "human", "left" if rng.random() < 0.5 else "right", strength)
            verdict(pair, JUDGE, "judge", "left", swayed + first, tie)
            verdict(pair, JUDGE, "judge", "right", swayed - first, tie)
    return Arena(told, replies, compared, verdicts)
