"""Small arenas whose verdicts are asked of a server, and what came of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from batch_server import BatchServer

from attunebench.arena import folder as arenas
from attunebench.arena.folder import read_arena
from attunebench.arena.objects import History, Message, Pair, Reply, Verdict
from attunebench.runner import ModelSettings, RunSummary
from attunebench.selftest.answers import filled, varied_text
from attunebench.selftest.behaviours import Answer, Asked, Behaviour
from attunebench.selftest.server import FakeServer

HISTORIES, PAIRS = 3, 6
"""Three histories with replies by three authors: two pairs of each history."""
Script = Callable[[Asked], Behaviour]
Judge = Callable[..., RunSummary]


def make_arena(folder: Path, **replies: Any) -> Path:
    """An arena whose replies have what `replies` say: by author, keys of `Reply`."""
    talks, texts, pairs = [], [], []
    for number in range(HISTORIES):
        turns = (Message(role="seeker", text=f"I failed exam {number}, and now I dread the next one."),)
        talks.append(History(id=f"c{number}/1", turns=turns))
        for author in ("ada-1", "bob-2", "original"):
            values = {"text": f"Reply to {number} in the manner of {author[0]}.", "kind": "model"}
            texts.append(
                Reply(history=f"c{number}/1", author=author, **{**values, **replies.get(author.partition("-")[0], {})})
            )
        pairs += [
            Pair(id=f"c{number}/1/{at}", history=f"c{number}/1", left="ada-1", right=right)
            for at, right in enumerate(("bob-2", "original"))
        ]
    for name, lines in (("histories", talks), ("replies/all", texts), ("pairs", pairs)):
        arenas.write_lines(folder / f"{name}.jsonl", lines)
    return folder


def models(server: FakeServer | BatchServer, *names: str) -> list[ModelSettings]:
    return [ModelSettings(provider="local", model=name, base_url=server.url) for name in names]


def verdicts(folder: Path) -> dict[tuple[str, str, str], Verdict]:
    arena = read_arena(folder)
    assert () == arena.problems
    return {(one.rater, one.pair, one.order): one for one in arena.verdicts}


def told(folder: Path) -> list[dict[str, Any]]:
    """The lines of verdicts without what tells of one run's own time."""
    return [one.model_dump(exclude={"seconds"}) for one in verdicts(folder).values()]


def varied(asked: Asked) -> Behaviour:
    return Answer(varied_text(asked))


def saying(preference: str | None, **others: Any) -> Script:
    """A judge that always says the same."""

    def script(asked: Asked) -> Behaviour:
        return Answer(json.dumps({**filled(asked.schema), "preference": preference, **others}))

    return script


def once_each(server: FakeServer) -> bool:
    asked = Counter(json.dumps([body["model"], body["messages"]]) for body in server.bodies)
    return set(asked.values()) <= {1}
