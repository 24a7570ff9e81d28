"""The page of hostile scores in Chromium: whatever stands in a text field, nothing runs, complains or asks."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from browser import IN_CHROMIUM
from html_study import SETTINGS, Texts
from planted import Plan, Skill, planted_scores

from attunebench.reports.html import render_html

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = IN_CHROMIUM
PROBE = (
    "<script>alert('{n}')</script><img src=x onerror=alert('{n}')><svg/onload=alert('{n}')>"
    "</script></style></title><script>alert('{n}')</script><!--<script>"
    "\"' onmouseover=alert('{n}') autofocus onfocus=alert('{n}') style=background:url(//127.0.0.1:9/{n})"
    "\u2028alert('{n}')\u2029\\u003c \x00\x1b[31m\u202e {{{n}}} {{% x %}} __proto__ javascript:a({n})"
)
"""Tags, the end of a script, attributes, and separators with signs of templates."""
KEPT = frozenset(("schema_version", "format", "turnNumber", "observed", "preferred", "comparisons", "pairwise"))
"""Not free text: with anything else there, no study reads the scores."""
IDS = ("conversationId", "id", "provider", "em_model", "mode", "source_file", "om_model", "participant_id")
LETTERS = ("binary_om", "binary_hp", "binary_om_hp", "binary_hp_hp")


@cache
def _scores() -> Any:
    models = {"a": {"default": Skill(judge=0.7), "verbose": Skill(cost=0.1)}, "b": Skill(0.6)}
    return planted_scores(models, Plan(conversations=4, turns=2, people=3), resamples=50)


def probed(value: Any, probe: str, key: str = "") -> Any:
    """The scores with each text replaced: the same text by the same probe, so that names still refer to each other."""
    if key in KEPT or key in LETTERS:
        return value
    if isinstance(value, dict):
        return {name: probed(inner, probe, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [probed(inner, probe, "" if key == "questions" else key) for inner in value]
    return probe.format(n=f"{key}-{value}") if isinstance(value, str) else value


def unscored() -> Any:
    """Scores in which one conversation was scored for nobody."""
    scores = copy.deepcopy(_scores())
    last = scores["ground_truth"][-1]["conversationId"]
    scores["conversations"] = [entry for entry in scores["conversations"] if entry["conversationId"] != last]
    return scores


def clicked_through(chromium: Any, path: Path) -> list[str]:
    """What the page complained of, or asked for, while everything in it was opened."""
    page = chromium.new_page()
    page.set_default_timeout(60_000)
    found: list[str] = []
    page.on("console", lambda message: found.append(message.text))
    page.on("pageerror", lambda error: found.append(str(error)))
    page.on("dialog", lambda dialog: (found.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: found.append(request.url))
    page.goto(path.as_uri())
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    for kind, most in (("[data-talk]", 4), ("[data-d]", 12), ("[data-stop]", 2)):
        for place in range(min(most, page.locator(kind).count())):
            page.evaluate("([kind, place]) => document.querySelectorAll(kind)[place].click()", [kind, place])
            page.evaluate("new Promise((done) => setTimeout(done, 0))")
            for label in ("Whole conversation", "Next turn"):
                if kind == "[data-talk]":
                    page.locator("#behind").get_by_role("button", name=label).first.click()
            page.evaluate("for (const one of document.querySelectorAll('dialog details')) one.open = true")
            page.evaluate("for (const one of document.querySelectorAll('dialog')) one.close()")
    page.close()
    return [line for line in found if not line.startswith("data:") and line != path.as_uri()]


@pytest.mark.slow
def test_no_text_runs_complains_or_asks(chromium: Any, tmp_path: Path) -> None:
    evidence = Texts(PROBE.format(n="talk"), PROBE.format(n="draft"), (PROBE.format(n="remark"),))
    path = tmp_path / "page.html"
    path.write_text(render_html(probed(_scores(), PROBE), evidence=evidence, settings=SETTINGS), "utf-8")
    assert [] == clicked_through(chromium, path)


@pytest.mark.slow
def test_a_conversation_that_nobody_was_scored_on_opens_like_any(chromium: Any, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(render_html(unscored(), settings=SETTINGS, analyses=("leaderboard",)), "utf-8")
    assert [] == clicked_through(chromium, path)


def test_the_probes_reach_every_text() -> None:
    made = json.dumps(probed(_scores(), "PROBE {n}"))
    assert made.count("PROBE") > 200
