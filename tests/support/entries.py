"""Makes journal entries, plain and awkward, and is the process that keeps them until somebody kills it.

python entries.py FOLDER COUNT [held]   keeps COUNT entries, printing each number once it is on disk; with `held` it
                                        then waits with the journal open until stdin ends
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attunebench.backends.base import Reply
from attunebench.journal import Entry, Journal
from attunebench.protocol.calls import Usage

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def an_entry(number: int = 0, **changes: Any) -> Entry:
    """The `number`-th of many entries; the same for the same number."""
    values: dict[str, Any] = {
        "request_hash": f"{number:064x}",
        "call_id": f"c{number}/default/1/draft",
        "conversation_id": f"c{number}",
        "mode": "default",
        "turn": 1,
        "kind": "draft",
        "judge": None,
        "ask": 0,
        "provider": "local",
        "base_url": "http://127.0.0.1:9/v1",
        "model": "m",
        "prompt_sha256": "a" * 64,
        "schema_sha256": "b" * 64,
        "parameters": "{}",
        "max_tokens": 4096,
        "sent_at": "2026-01-01T00:00:00.000+00:00",
        "seconds": 1.5,
        "tries": 1,
        "lost": 0,
        "attunebench_version": "0",
        "reply": Reply(text=f"reply {number} " + "word " * 200, usage=Usage(10, None, 20, None)),
    }
    return Entry(**{**values, **changes})


def replies() -> SearchStrategy[Reply]:
    """Replies with every text that Python can hold but half surrogate pairs, which the wire takes out."""
    from hypothesis import strategies as st

    text = st.text(st.characters(exclude_categories=("Cs",)))
    maybe = st.none() | text
    tokens = st.none() | st.integers(0, 2**40)
    number = st.none() | st.floats(0, 1e9)
    return st.builds(
        Reply,
        text=maybe,
        finish_reason=maybe,
        refusal=maybe,
        reasoning=maybe,
        usage=st.builds(Usage, tokens, tokens, tokens, tokens),
        cost=number,
        model=maybe,
        provider=maybe,
        latency=number,
        structured=maybe,
        notes=st.dictionaries(text, text | st.booleans(), max_size=3),
        headers=st.dictionaries(text, text, max_size=3),
    )


def keep(folder: Path, *entries: Entry, **opening: Any) -> None:
    """Keep these in the folder's journal, and close it."""

    async def go() -> None:
        with Journal.open(folder, **opening) as journal:
            await asyncio.gather(*map(journal.keep, entries))

    asyncio.run(go())


async def _main(folder: Path, count: int, held: bool) -> None:
    with Journal.open(folder) as journal:

        async def one(number: int) -> None:
            await journal.keep(an_entry(number))
            print(number, flush=True)

        for first in range(0, count, 7):
            await asyncio.gather(*map(one, range(first, min(first + 7, count))))
        if held:
            print("held", flush=True)
            sys.stdin.read()


if __name__ == "__main__":
    asyncio.run(_main(Path(sys.argv[1]), int(sys.argv[2]), "held" in sys.argv))
