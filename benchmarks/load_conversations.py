"""Times loading 200 generated conversations of real size against parsing the same files as JSON, and prints the ratio.

Run it by hand: python benchmarks/load_conversations.py [number of conversations]
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from attunebench.conversations import load_conversations

ROUNDS = 5


def best_seconds(work: Callable[[], object]) -> float:
    """The shortest of several rounds: the one that other work on the machine disturbed least."""
    seconds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main(n: int) -> None:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))
    from factory import write_conversations

    with tempfile.TemporaryDirectory() as name:
        folder = write_conversations(name, n)
        files = sorted(folder.iterdir())
        parsing = best_seconds(lambda: [json.loads(file.read_text(encoding="utf-8")) for file in files])
        loading = best_seconds(lambda: load_conversations(folder))
    print(f"{n} conversations: load {loading:.3f} s, json alone {parsing:.3f} s, ratio {loading / parsing:.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
