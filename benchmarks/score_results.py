"""How long `score` takes for a folder of result files: seconds per 1,000 files, peak memory, ratio to parsing alone.

Usage: python benchmarks/score_results.py [--models N] [--modes N] [--conversations N] [--full]
The default is small; `--full` is the load target, 11 models × 3 modes × 200 conversations: 10 s and 500 MB.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from factory import make_conversation, write_conversations
from result_factory import noisy_result, write_result

from attunebench.constants import MODES
from attunebench.scorer import score_folders
from attunebench.scores import write_scores


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        _write(folder, options)
        files = sorted((folder / "results").glob("*.json"))
        began = time.perf_counter()
        for file in files:
            json.loads(file.read_bytes())
        parsed = time.perf_counter() - began
        busy = time.process_time()
        began = time.perf_counter()
        scores = score_folders(folder / "results", folder / "conversations")
        scored = time.perf_counter() - began
        began = time.perf_counter()
        write_scores(folder / "scores.json", scores)
        written = time.perf_counter() - began
        busy = time.process_time() - busy
    whole = scored + written
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{len(files)} files: {whole:.1f} s (of which writing {written:.1f} s), {busy:.1f} s of processor time")
    print(
        f"{1000 * whole / len(files):.2f} s per 1,000 files, {whole / parsed:.1f} × parsing alone, peak {memory:.0f} MB"
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Time the scoring of a folder of result files.")
    parser.add_argument("--models", type=int, default=3)
    parser.add_argument("--modes", type=int, default=1)
    parser.add_argument("--conversations", type=int, default=100)
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
