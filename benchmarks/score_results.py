"""How long `score` takes for a folder of result files, as the command does it: time, processor time, memory, size.

Usage: python benchmarks/score_results.py [--models N] [--modes N] [--conversations N] [--full] [--processes N]
The default is small; `--full` is the load target, 11 models × 3 modes × 200 conversations: 10 s and 500 MB.
Processor time is also given as a ratio to parsing the files alone, which says more than seconds on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from factory import make_conversation, write_conversations
from result_factory import noisy_result, write_result

from attunebench.constants import MODES
from attunebench.scorer.pool import processes_for

_SCORE = """
import sys
from attunebench.api import score_to_file
if __name__ == "__main__":
    folder, processes = sys.argv[1], int(sys.argv[2])
    score_to_file(f"{folder}/results", f"{folder}/conversations", f"{folder}/scores.json", processes=processes)
    import resource
    print(*(resource.getrusage(who).ru_maxrss / 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))
"""


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        _write(folder, options)
        files = sorted((folder / "results").glob("*.json"))
        began = time.process_time()
        for file in files:
            json.loads(file.read_bytes())
        parsed = time.process_time() - began
        processes = options.processes or processes_for(len(files))
        (folder / "score.py").write_text(_SCORE)
        began = time.perf_counter()
        told = subprocess.run(
            [sys.executable, folder / "score.py", folder, str(processes)], check=True, stdout=subprocess.PIPE
        )
        whole = time.perf_counter() - began
        size = (folder / "scores.json").stat().st_size / 1e6
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = used.ru_utime + used.ru_stime
    own, largest = map(float, told.stdout.split())
    memory = own + (processes - 1) * largest
    print(f"{len(files)} files by {processes} processes: {whole:.1f} s ({1000 * whole / len(files):.2f} s per 1,000)")
    print(
        f"processor time {busy:.1f} s, {busy / parsed:.1f} × parsing alone; over {processes}: {busy / processes:.1f} s"
    )
    print(f"peak memory {memory:.0f} MB at most ({own:.0f} MB of it in the parent); {size:.0f} MB written")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Time the scoring of a folder of result files.")
    parser.add_argument("--models", type=int, default=3)
    parser.add_argument("--modes", type=int, default=1)
    parser.add_argument("--conversations", type=int, default=100)
    parser.add_argument("--processes", type=int, default=0, help="0: as many as the command would take")
    parser.add_argument("--full", action="store_true", help="11 models, 3 modes, 200 conversations")
    options = parser.parse_args()
    if options.full:
        options.models, options.modes, options.conversations = 11, 3, 200
    return options


def _write(folder: Path, options: argparse.Namespace) -> None:
    write_conversations(folder / "conversations", options.conversations)
    for seed in range(options.conversations):
        conversation = make_conversation(seed)
        for model in range(options.models):
            for mode in MODES[: options.modes]:
                result = _as_a_run_writes_it(noisy_result(conversation, seed=model, model=f"model-{model}"))
                write_result(folder / "results", {**result, "mode": mode})


def _as_a_run_writes_it(result: dict[str, Any]) -> dict[str, Any]:
    """Unanswered items are missing from their maps, and the run has counted its calls."""
    for turn in result["turns"]:
        for key, value in turn.items():
            if isinstance(value, dict) and "by_model" not in key:
                turn[key] = {item: answer for item, answer in value.items() if answer not in (None, "both")}
    counts = {"made": 26, "reasked": 1, "mended": 1, "refused": 0, "answered_items": 700, "expected_items": 720}
    return {"calls": counts, **result}


if __name__ == "__main__":
    main()
