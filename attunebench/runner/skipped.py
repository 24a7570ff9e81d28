"""`_skipped_<model>.json`: what a run had to leave out, why, and how to go on. No file where nothing is left out.

The file is a note for people and for coverage counts; a later run decides by the results that are there, not by it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from attunebench.runner.files import clean_name, read_object, short_name, write_json

_KEY = ("provider", "model", "conversationId", "mode")


class SkippedFile:
    """The entries of one model; each change is on disk before the call returns.

    `task` keeps the lists of others than the benchmark apart, under a name that scoring does not look at.
    """

    def __init__(self, folder: Path, provider: str, model: str, task: str = "") -> None:
        of_task = f"_{clean_name(task)}" if task else ""
        self.path = folder / f"{of_task}_skipped_{short_name(clean_name(model), model)}.json"
        self._provider = provider
        self._model = model
        # Names of different models may be cleaned to the same one, so the model is part of the key.
        self._entries: dict[tuple[str, ...], dict[str, Any]] = {}
        for entry in _stored(self.path):
            self._entries[tuple(str(entry.get(name)) for name in _KEY)] = entry

    def add(self, conversation_id: str, mode: str, *, reason: str, tries: int, when: str, again: str) -> None:
        """Note what failed, when, after how many tries, and the command to run again."""
        self._entries[(self._provider, self._model, conversation_id, mode)] = {
            "provider": self._provider,
            "model": self._model,
            "conversationId": conversation_id,
            "mode": mode,
            "reason": reason,
            "tries": tries,
            "when": when,
            "run_again": again,
        }
        self._save()

    def remove(self, conversation_id: str, mode: str) -> None:
        """The conversation has its result now."""
        if self._entries.pop((self._provider, self._model, conversation_id, mode), None) is not None:
            self._save()

    def _save(self) -> None:
        if self._entries:
            write_json(self.path, {"schema_version": 1, "skipped": list(self._entries.values())})
        else:
            self.path.unlink(missing_ok=True)


def _stored(path: Path) -> list[dict[str, Any]]:
    entries = (read_object(path) or {}).get("skipped")
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
