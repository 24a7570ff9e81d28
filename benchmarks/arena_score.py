"""What scoring an arena of the published size costs: 17 authors, 300 histories, 9 pairs each, 15 raters.

Usage: python benchmarks/arena_score.py [--judges N] [--resamples N]
40,500 verdicts of people, with judges on top. Target with 2,000 resamples: 60 s of processor time and 1 GB.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from arenas import heart_arena

from attunebench.arena.sampling import ArenaSettings
from attunebench.arena.score import PARTS, score_arena
from attunebench.arena.table import table_of


def main() -> None:
    parser = argparse.ArgumentParser(description="Time and memory of `arena score`.")
    parser.add_argument("--judges", type=int, default=0)
    parser.add_argument("--resamples", type=int, default=2000)
    options = parser.parse_args()
    arena, settings = heart_arena(judges=options.judges), ArenaSettings(resamples=options.resamples)
    before = resource.getrusage(resource.RUSAGE_SELF)
    print(f"{len(arena.verdicts):,} verdicts; the arena itself takes {before.ru_maxrss / 1e6:.2f} GB")
    table = table_of(arena)
    for name, (_, _, analyse) in PARTS.items():
        start = time.process_time()
        analyse(arena, table, settings)
        print(f"{name}: {time.process_time() - start:.1f} s")
    start, wall = time.process_time(), time.perf_counter()
    score_arena(arena, settings)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"all: {time.process_time() - start:.1f} s CPU, {time.perf_counter() - wall:.1f} s, {peak:.2f} GB at most")


if __name__ == "__main__":
    main()
