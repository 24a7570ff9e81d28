"""What scoring an arena of the published size costs: 17 authors, 300 histories, 9 pairs each, 15 raters.

Usage: python benchmarks/arena_score.py [--judges N] [--resamples N]
40,500 verdicts of people with a rationale each, replies of 120 words, with judges on top. Target with 2,000 resamples:
60 s of processor time and 1 GB.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from arenas import heart_arena

from attunebench.analyses.table import Missing
from attunebench.arena.folder import Arena
from attunebench.arena.sampling import ArenaSettings
from attunebench.arena.score import PARTS, score_arena
from attunebench.arena.table import table_of

_TEXT = """I hear how hard this is, and you make sense to me, because what happened would hurt anybody who cares so much
about being a good friend while nobody asks how you are. Maybe you could try to rest, or tell her what you need."""


def worded(arena: Arena) -> Arena:
    """With replies of 120 words and rationales of 25, since acts are looked for in them."""
    rng, words = random.Random(0), _TEXT.split()
    replies = {
        key: one.model_copy(update={"text": " ".join(rng.choices(words, k=120))}) for key, one in arena.replies.items()
    }
    rationales = [" ".join(rng.choices(words, k=25)) for _ in arena.verdicts]
    both = zip(arena.verdicts, rationales, strict=True)
    verdicts = [one.model_copy(update={"rationale": rationale}) for one, rationale in both]
    return replace(arena, replies=replies, verdicts=verdicts)


def main() -> None:
    parser = argparse.ArgumentParser(description="Time and memory of `arena score`.")
    parser.add_argument("--judges", type=int, default=0)
    parser.add_argument("--resamples", type=int, default=2000)
    options = parser.parse_args()
    arena, settings = worded(heart_arena(judges=options.judges)), ArenaSettings(resamples=options.resamples)
    before = resource.getrusage(resource.RUSAGE_SELF)
    print(f"{len(arena.verdicts):,} verdicts; the arena itself takes {before.ru_maxrss / 1e6:.2f} GB")
    table = table_of(arena)
    for name, (_, _, analyse) in PARTS.items():
        start = time.process_time()
        with suppress(Missing):
            analyse(arena, table, settings)
        print(f"{name}: {time.process_time() - start:.1f} s")
    start, wall = time.process_time(), time.perf_counter()
    score_arena(arena, settings)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"all: {time.process_time() - start:.1f} s CPU, {time.perf_counter() - wall:.1f} s, {peak:.2f} GB at most")


if __name__ == "__main__":
    main()
