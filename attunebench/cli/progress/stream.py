"""`run --json`: what happens as JSON lines on stdout, for scripts. docs/json.md has the shapes, which are kept."""

from __future__ import annotations

import json
import os
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from attunebench.cli.emitting import say
from attunebench.cli.progress.board import Board
from attunebench.errors import AttuneBenchError
from attunebench.progress.tally import Tally
from attunebench.runner import RunPlan, RunSettings, RunSummary

if TYPE_CHECKING:
    from attunebench.batches.ledger import Submission
    from attunebench.protocol.calls import Call
    from attunebench.runner.budget import Budget
    from attunebench.runner.pricing import Estimate, KnownPrices

EVERY = 1.0
"""Seconds between two lines of progress."""


class EventTally(Tally):
    """Also keeps what happens until it is written."""

    def __init__(self, settings: RunSettings, **options: Any) -> None:
        super().__init__(settings, **options)
        self.events: deque[dict[str, Any]] = deque()

    def note(self, event: str, **facts: Any) -> None:
        em = self.settings.em
        self.events.append({"event": event, "time": _now(), "provider": em.provider, "model": em.model, **facts})

    def started(self, plan: RunPlan) -> None:
        super().started(plan)
        likely, worst = plan.price or (None, None)
        self.note(
            "start",
            modes=list(self.settings.modes),
            judges=[judge.model for judge in self.settings.judges],
            output=str(self.settings.output),
            results={"to_make": plan.jobs - plan.complete, "complete": plan.complete},
            calls={"planned": plan.calls, "journalled": plan.journalled},
            cost={"expected": likely, "worst": worst, "limit": self.settings.max_cost},
            notes=[*plan.notes],
        )

    def retrying(self, call: Call, reason: str, wait: float) -> None:
        super().retrying(call, reason, wait)
        self.note("retry", call=call.id, reason=reason, wait=round(wait, 3))

    def reasking(self, call: Call, missing: int) -> None:
        super().reasking(call, missing)
        self.note("reprompt", call=call.id, missing=missing)

    def written(self, conversation_id: str, mode: str, path: Path) -> None:
        super().written(conversation_id, mode, path)
        self.note("done", conversation=conversation_id, mode=mode, file=str(path))

    def skipped(self, conversation_id: str, mode: str, reason: str) -> None:
        super().skipped(conversation_id, mode, reason)
        self.note("skipped", conversation=conversation_id, mode=mode, reason=reason)

    def warned(self, message: str) -> None:
        super().warned(message)
        self.note("warning", message=message)

    def pausing(self, model: str, reason: str, seconds: float) -> None:
        super().pausing(model, reason, seconds)
        self.note("pause", asked=model, reason=reason, seconds=round(seconds, 3))

    def interrupted(self, under_way: int, grace: float) -> None:
        super().interrupted(under_way, grace)
        self.note("interrupted", under_way=under_way, grace=grace)

    def looked(self, batches: Sequence[Submission], seconds: float) -> None:
        states = ((each, each.batch) for each in batches)
        self.note(
            "batches",
            batches=[
                {"id": sent.id, "status": state and state.status, "requests": sent.requests,
                 "answered": state and state.completed, "failed": state and state.failed}
                for sent, state in states
            ],
            next_look=round(seconds, 1),
        )  # fmt: skip
        self.wake()


class EventStream:
    """Writes events to stdout, a line each. A reader that is gone, or a full disk, ends no run."""

    def write(self, event: str, **facts: Any) -> None:
        self._print({"event": event, "time": _now(), **facts})

    @contextmanager
    def until_exit(self) -> Iterator[None]:
        """The last event says how the command ended; a bug of ours ends it with 2."""
        status, error = 2, None
        try:
            yield
            status = 0
        except typer.Exit as ended:
            status = ended.exit_code
            raise
        except AttuneBenchError as failure:
            status, error = failure.exit_status, str(failure)
            raise
        except KeyboardInterrupt:
            status = 130
            raise
        except Exception as failure:
            error = f"{type(failure).__name__}: {failure}"
            raise
        finally:
            self.write("exit", status=status, error=error)

    @contextmanager
    def following(self, settings: RunSettings) -> Iterator[Tally]:
        """An observer of one run, whose events are written while the run goes on."""
        board = Board(sys.stderr, quiet=True)
        tally = EventTally(settings, wake=board.wake)
        shown = (0.0, 0, 0)

        def write() -> None:
            nonlocal shown
            tally.sample()
            tally.skipped_news.clear()  # of the display: events say the same
            tally.warnings.clear()
            while tally.events:
                self._print(tally.events.popleft())
            last, *counts = shown
            if tally.plan is not None and counts != [tally.calls, tally.results] and tally.clock() - last >= EVERY:
                shown = tally.clock(), tally.calls, tally.results
                self.write("progress", **_how_far(tally))

        with board.ticking(write, write, EVERY):
            yield tally

    def estimated(self, estimate: Estimate, settings: RunSettings, known: KnownPrices) -> None:
        """What a run would ask, and its cost."""
        likely, worst = estimate.price(known.prices, settings.max_tokens) or (None, None)
        self.write(
            "estimate",
            provider=settings.em.provider,
            model=settings.em.model,
            results={"to_make": estimate.jobs, "complete": estimate.complete},
            calls={kind.kind: kind.calls for kind in estimate.kinds},
            tokens={"prompt": estimate.prompt_tokens, "completion": sum(kind.reply_tokens for kind in estimate.kinds)},
            cost={"expected": likely, "worst": worst},
        )

    def ended(self, summary: RunSummary, settings: RunSettings) -> None:
        """How one run ended."""
        self.write(
            "end",
            provider=settings.em.provider,
            model=settings.em.model,
            stopped=summary.stopped or None,
            results={
                "written": summary.written,
                "complete_before": summary.complete_before,
                "skipped": len(summary.skipped),
                "not_reached": summary.unreached,
                "pending_votes": summary.votes_owed,
            },
            calls={"answered": summary.calls, "retries": summary.retries, "reprompts": summary.reasks},
            items={"answered": summary.answered_items, "expected": summary.expected_items},
            unanswered=dict(summary.unanswered),
            **_spent(summary.spending),
            seconds=round(summary.seconds, 3),
        )

    def _print(self, event: dict[str, Any]) -> None:
        try:
            print(json.dumps(event, default=str), flush=True)
        except OSError as error:
            if not isinstance(error, BrokenPipeError):
                say(f"Events cannot be written ({error.strerror or error}); the run goes on without them.")
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")


def _how_far(tally: Tally) -> dict[str, Any]:
    assert tally.plan is not None
    return {
        "provider": tally.settings.em.provider,
        "model": tally.settings.em.model,
        "results": {"done": tally.results, "skipped": tally.skips, "to_make": tally.plan.jobs - tally.plan.complete},
        "calls": {
            "answered": tally.calls,
            "planned": tally.planned,
            "retries": tally.retries,
            "reprompts": tally.reasks,
        },
        **_spent(tally.plan.spending),
        "cost_expected": tally.projected,
        "calls_per_second": tally.rate and round(tally.rate, 3),
        "seconds_left": tally.left and round(tally.left, 1),
    }


def _spent(spending: Budget) -> dict[str, Any]:
    """USD of this run, None where a part of it is unknown, the known part, and tokens."""
    usage, shares = spending.usage, (spending.model, spending.judges)
    return {
        "cost": spending.cost,
        "cost_known": sum(share.cost for share in shares),
        "tokens": {name: getattr(usage, f"{name}_tokens") for name in ("prompt", "cached", "completion", "reasoning")},
        "replayed": spending.replayed,
        "without_reply": spending.lost,
    }
