"""Every error of this package, and whose it is.

AttuneBenchError                 one sentence for the user; `exit_status` says how the command ends
├── UsageError          (2)      the user's: an unknown mode, provider or metric; options that exclude each other
├── DataError           (2)      the user's: a folder, conversation, codebook or scores file that cannot be used
├── StatisticsError     (2)      the data's: they do not determine an estimate that was asked for
├── ConfigurationError  (2)      the set-up's: key, model name, URL, money or quota; the run stops, work is kept
└── BackendError                 one call's; these never leave the runner
    ├── TransientError           the line's or the server's: retried with backoff, then the conversation is skipped
    ├── RejectedError            the server rejects this call for an unknown reason: the conversation is skipped
    └── ItemError                this call can never succeed (too long for the model …): an unanswered item, not retried

What a model answers, however badly, is no exception: it is an `Answer` with an outcome (protocol/calls.py).
"""

from __future__ import annotations

from typing import Literal

Trouble = Literal["rate", "money", "starting", "server", "gateway", "connect", "line", "timeout", "body"]
"""What kind of passing trouble: too many requests; payment held back; a server that is still loading its model; the
server; a gateway before it that gave up waiting; no connection; a broken connection; no complete answer in time; an
unusable body."""
UNBILLED: frozenset[Trouble] = frozenset(("rate", "money", "starting", "connect"))
"""Troubles that come before a model has done anything: no bound on money counts them. Providers may see it otherwise,
so all but a missing connection are told to the user as possibly billed."""


class AttuneBenchError(Exception):
    """Base of all errors that the package raises on purpose; its text is one or two sentences with the remedy."""

    exit_status = 2


class UsageError(AttuneBenchError):
    """The command or a function was called with something that does not exist or does not go together."""


class DataError(AttuneBenchError):
    """A file or folder of the user's cannot be used as it is; it is left untouched."""


class StatisticsError(AttuneBenchError):
    """A fit did not converge or has no solution: too few or too one-sided observations, and never a number instead."""


class ConfigurationError(AttuneBenchError):
    """Key, model, URL, parameters or money: no retry can mend it, so the run stops and keeps what it has."""


class BackendError(AttuneBenchError):
    """One call failed for a reason that is not the model's answer."""


class TransientError(BackendError):
    """Trouble that may heal: time-outs, dropped connections, 408, 409, 425, 429, 5xx, an error body under status 200.

    `kind` says what to do about it beside trying again (slow down, pause everybody, count it as possibly billed).
    `retry_after` is the wait in seconds that the server asked for, or None; `elapsed` the seconds from the request to
    the trouble, or None; `tries` counts the requests that were sent for the call before it was given up.
    """

    def __init__(
        self, message: str, *, kind: Trouble = "server", retry_after: float | None = None, elapsed: float | None = None
    ) -> None:
        super().__init__(message)
        self.kind: Trouble = kind
        self.retry_after = retry_after
        self.elapsed = elapsed
        self.tries = 1


class RejectedError(BackendError):
    """The server answers other calls and rejects this one, twice and unchanged, for a reason that says nothing.

    Nobody knows whether the model is to blame, so the call is not scored. `tries` as in `TransientError`.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.tries = 1


class ItemError(BackendError):
    """The server will never accept this one call (the prompt exceeds the model's context): not answered.

    `outcome` is the answer's outcome that the runner records: "refused" for a moderation error, else "unreadable".
    """

    def __init__(self, message: str, *, outcome: str = "unreadable") -> None:
        super().__init__(message)
        self.outcome = outcome
