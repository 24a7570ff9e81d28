"""What the HTML report costs whom: its maker, its readers, and their paper.

Usage: python benchmarks/html_report.py [STUDY ...] [--cache DIR]
A study is `demo` or MODELSxCONVERSATIONS; by default demo, 5x100 and 11x200, with long texts and raw replies. Targets:
made in 20 s of processor time, under 10 MB, opened in 1 s, 1,500 words at once and 12,000 unfolded, 4 pages of verdicts
and leaderboard. Data is generated once into the cache folder, where the pages are left. Opening requires playwright and
Chromium.
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

from browser import BROWSER, Tab
from entries import an_entry
from planted import Plan, Skill, answered, planted_conversations
from playwright.sync_api import sync_playwright

from attunebench.backends.base import Reply
from attunebench.conversations import demo_folder
from attunebench.demo import run_demo
from attunebench.journal import Journal
from attunebench.reports.html import render_html
from attunebench.scorer import score_folders
from attunebench.scores import read_scores, write_scores
from attunebench.transcripts import FolderTranscripts

_VOCABULARY = 20_000
_FREQUENCIES = list(accumulate(1 / (rank + 2.7) for rank in range(_VOCABULARY)))
_KINDS = ("draft", "review", "binary_hp", "pairwise")


_TIMES = """[
    performance.getEntriesByName('first-contentful-paint')[0].startTime,
    performance.getEntriesByType('navigation')[0].loadEventEnd,
]"""
_HEADS = ("study", "CPU s", "MB", "first paint s", "loaded s", "words", "unfolded", "pages")
_TARGETS = ("target", "20", "10", "", "1", "1,500", "12,000", "4")


def main() -> None:
    parser = argparse.ArgumentParser(description="Size and speed of the HTML report.")
    parser.add_argument("studies", nargs="*", default=["demo", "5x100", "11x200"])
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "attunebench-benchmark")
    options = parser.parse_args()
    for cells in (_HEADS, _TARGETS):
        _print(cells)
    for study in options.studies:
        folder = options.cache / f"html_{study}"
        conversations = demo_folder() if study == "demo" else folder / "conversations"
        if not (folder / "scores.json").exists():
            _make(study, folder)
        scores = read_scores(folder / "scores.json")
        busy = time.process_time()
        with FolderTranscripts(conversations, folder / "results") as evidence:
            text = render_html(scores, evidence=evidence)
        busy = time.process_time() - busy
        (folder / "report.html").write_text(text, "utf-8")
        _print((study, f"{busy:.1f}", f"{len(text.encode()) / 1e6:.2f}", *_opened(folder / "report.html")))


def _print(cells: tuple[str, ...]) -> None:
    print("  ".join(cell.rjust(max(8, len(head))) for cell, head in zip(cells, _HEADS, strict=False)), flush=True)


def _make(study: str, folder: Path) -> None:
    if study == "demo":
        folder.mkdir(parents=True, exist_ok=True)
        write_scores(folder / "scores.json", run_demo(folder / "results"))
    else:
        models, count = map(int, study.split("x"))
        _generate(folder, models, count)


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


def _opened(path: Path) -> tuple[str, ...]:
    """Times of the fastest of three openings, words, and printed pages, as a browser has them."""
    if BROWSER is None:
        return ("no Chromium",)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"])
        times = []
        for _ in range(3):
            context = chromium.new_context(viewport={"width": 1400, "height": 900})
            tab = Tab(context, path)
            tab.page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length")
            times.append(tab.page.evaluate(_TIMES))
            words, pages = tab.words(), tab.printed_pages("A4")
            tab.unfold(tables=False)
            unfolded = tab.words()
            context.close()
        chromium.close()
    painted, loaded = (min(each) / 1000 for each in zip(*times, strict=True))
    return (f"{painted:.2f}", f"{loaded:.2f}", f"{words:,}", f"{unfolded:,}", str(pages))


if __name__ == "__main__":
    main()
