"""How large the HTML report of a study is, how long it takes to make, and how long a browser takes to open it.

Usage: python benchmarks/html_report.py [--models N] [--conversations N] [--cache DIR] [--keep FILE]
The default is the load target, 11 models × 200 conversations with long texts and raw replies: under 10 MB, made in
20 s, opened in 1 s. The data is generated once into the cache folder. Opening needs playwright and Chromium.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import shutil
import sys
import tempfile
import time
from itertools import accumulate
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from entries import an_entry
from planted import Plan, Skill, answered, planted_conversations

from attunebench.backends.base import Reply
from attunebench.journal import Journal
from attunebench.reports.html import BUDGET, render_html
from attunebench.scorer import score_folders
from attunebench.scores import read_scores, write_scores
from attunebench.transcripts import FolderTranscripts

_VOCABULARY = 20_000
_FREQUENCIES = list(accumulate(1 / (rank + 2.7) for rank in range(_VOCABULARY)))
_KINDS = ("draft", "review", "binary_hp", "pairwise")


def main() -> None:
    options = _options()
    folder = options.cache / f"html_{options.models}x{options.conversations}"
    if not (folder / "scores.json").exists():
        _generate(folder, options.models, options.conversations)
    scores = read_scores(folder / "scores.json")
    began, busy = time.perf_counter(), time.process_time()
    with FolderTranscripts(folder / "conversations", folder / "results") as evidence:
        text = render_html(scores, evidence=evidence)
    took, busy = time.perf_counter() - began, time.process_time() - busy
    size = len(text.encode())
    print(f"{options.models} models × {options.conversations} conversations: {size / 1e6:.1f} MB of {BUDGET / 1e6:.0f}")
    print(f"made in {took:.1f} s ({busy:.1f} s of processor time), {took / 20:.2f} × target")
    options.keep.write_text(text, "utf-8")
    _open(options.keep)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Size and speed of the HTML report.")
    parser.add_argument("--models", type=int, default=11)
    parser.add_argument("--conversations", type=int, default=200)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "attunebench-benchmark")
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()) / "attunebench-benchmark.html")
    return parser.parse_args()


def _generate(folder: Path, models: int, count: int) -> None:
    """Conversations, results with drafts, a journal with raw replies, and their scores."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("conversations", "results"):
        (folder / name).mkdir(parents=True)
    rng = random.Random(0)
    vocabulary = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 9))) for _ in range(_VOCABULARY)]
    conversations = planted_conversations(Plan(conversations=count, people=count * 3 // 5))
    for index, conversation in enumerate(conversations):
        for turn in conversation["turns"]:
            turn["userMessage"], turn["llmResponse"] = _prose(rng, vocabulary, 90), _prose(rng, vocabulary, 150)
        (folder / "conversations" / f"conversation_{index + 1}.json").write_text(json.dumps(conversation))
    asyncio.run(_results(folder / "results", conversations, models, vocabulary, rng))
    write_scores(folder / "scores.json", score_folders(folder / "results", folder / "conversations"))


async def _results(
    folder: Path, conversations: list[dict[str, Any]], models: int, vocabulary: list[str], rng: random.Random
) -> None:
    number = 0
    with Journal.open(folder) as journal:
        for place in range(models):
            model = f"model-{place + 1}"
            skill = Skill(om=0.8 + 0.006 * place, hp=0.7 + 0.006 * place, pairwise=0.52 + 0.012 * place, cost=0.01)
            for index, conversation in enumerate(conversations):
                raw = answered(conversation, index, skill, seed=0, name=model)
                raw |= {"em_model": model, "provider": "local", "mode": "default"}
                kept = []
                for turn in raw["turns"]:
                    turn["em_drafted_response"] = _prose(rng, vocabulary, 120)
                    for kind in _KINDS:
                        kept.append(_entry(number, conversation, model, turn, kind))
                        number += 1
                await asyncio.gather(*map(journal.keep, kept))
                (folder / f"{index}_{model}.json").write_text(json.dumps(raw))


def _entry(number: int, conversation: dict[str, Any], model: str, turn: dict[str, Any], kind: str) -> Any:
    said = {
        "draft": {"response": turn["em_drafted_response"]},
        "review": {k: turn[k] for k in ("em_emotion_tags", "em_binary_om_assessment", "em_binary_human_prediction")},
        "binary_hp": {k: turn[k] for k in ("em_binary_om_assessment_hp", "em_binary_human_prediction_hp")},
        "pairwise": turn["em_pairwise_selections"],
    }[kind]
    call = f"{conversation['conversationId']}/default/{turn['turnNumber']}/{kind}"
    return an_entry(
        number,
        call_id=call,
        conversation_id=conversation["conversationId"],
        turn=turn["turnNumber"],
        kind=kind,
        model=model,
        reply=Reply(text=json.dumps(said), finish_reason="stop"),
    )


def _prose(rng: random.Random, vocabulary: list[str], words: int) -> str:
    """Words with the frequencies of a language (Zipf's law), so that they compress about as badly as one."""
    return " ".join(rng.choices(vocabulary, cum_weights=_FREQUENCIES, k=int(words * rng.uniform(0.5, 1.6))))


def _open(page: Path) -> None:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print("not opened: playwright is not installed")
        return
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        print("not opened: there is no Chromium")
        return
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
        times = []
        for _ in range(3):
            tab = chromium.new_page()
            tab.goto(page.resolve().as_uri())
            times.append(tab.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd") / 1000)
            tab.close()
        chromium.close()
    print(f"opened in {min(times):.2f} to {max(times):.2f} s, {max(times):.2f} × target")


if __name__ == "__main__":
    main()
