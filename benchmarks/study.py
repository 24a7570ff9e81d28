"""How long a study takes at the load target: reading the scores file, and every array that analyses ask for.

Usage: python benchmarks/study.py SCORES (a scores file; benchmarks/score_results.py says what the load target is)
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import TypeVar

from attunebench.metrics.registry import REGISTRY
from attunebench.scores.loading import load_scores
from attunebench.scores.table import TRUTH_OF_BLOCK, ScoreTable

Made = TypeVar("Made")


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the arrays of a study.")
    parser.add_argument("scores")
    path = parser.parse_args().scores
    study = _timed("read the file", lambda: load_scores(path))
    _arrays("first", study)
    _arrays("again, in a half of it", study.with_conversations(study.ids[: len(study.ids) // 2]))


def _arrays(often: str, study: ScoreTable) -> None:
    print(f"{often}: {len(study.ids)} conversations, {len(study.groups)} groups")
    of_turns = [card.id for card in REGISTRY.values() if card.level == "turn"]
    _timed(f"  values of {len(REGISTRY)} metrics", lambda: [study.values(metric) for metric in REGISTRY])
    _timed(f"  turn values of {len(of_turns)} metrics", lambda: [study.turn_values(metric) for metric in of_turns])
    blocks = tuple(TRUTH_OF_BLOCK)
    _timed("  right and answers of four blocks", lambda: [(study.right(b), study.answers(b)) for b in blocks])


def _timed(what: str, work: Callable[[], Made]) -> Made:
    began = time.process_time()
    made = work()
    print(f"{what}: {time.process_time() - began:.2f} s of processor time")
    return made


if __name__ == "__main__":
    main()
