"""`_skipped_<model>.json`: what a run had to leave out, why, and how to go on. No file where nothing is left out.

A shard has a list of its own, `_skipped_<model>~2-of-8.json`, so that no two processes rewrite one file. The files are
notes for people and for coverage counts; a later run decides by the results that are there, not by them.
"""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path
from typing import Any

from attunebench.runner.files import clean_name, read_object, short_name, write_json

_KEY = ("provider", "model", "conversationId", "mode")


class SkippedFile:
    """The entries of one model; each change is on disk before the call returns.

    `task` keeps the lists of others than the benchmark apart, under a name that scoring does not look at. `shard` is
    the name of the one that the list is of ("2-of-8"); without one, the lists that shards have left are kept too, since
    no shard runs beside the whole.
    """

    def __init__(self, folder: Path, provider: str, model: str, task: str = "", *, shard: str = "") -> None:
        of_task = f"_{clean_name(task)}" if task else ""
        stem = f"{of_task}_skipped_{short_name(clean_name(model), model)}"
        # Other models' names hold no "~" when they are cleaned.
        self.path = folder / f"{stem}{f'~{shard}' if shard else ''}.json"
        self._model = (provider, model)
        of_shards = (
            [] if shard else [path for path in sorted(folder.glob("*~*.json")) if path.name.startswith(f"{stem}~")]
        )
        # Names of different models may be cleaned to the same one, so the model is part of the key.
        self._lists: dict[Path, dict[tuple[str, ...], dict[str, Any]]] = {}
        for path in (self.path, *of_shards):
            entries = (read_object(path) or {}).get("skipped")
            entries = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
            self._lists[path] = {tuple(str(entry.get(name)) for name in _KEY): entry for entry in entries}

    def add(self, conversation_id: str, mode: str, *, reason: str, tries: int, when: str, again: str) -> None:
        """Note what failed, when, after how many tries, and the command to run again."""
        key = (*self._model, conversation_id, mode)
        self.remove(conversation_id, mode, but=self.path)
        noted = {"reason": reason, "tries": tries, "when": when, "run_again": again}
        self._lists[self.path][key] = {**dict(zip(_KEY, key, strict=True)), **noted}
        self._save(self.path)

    def remove(self, conversation_id: str, mode: str, *, but: Path | None = None) -> None:
        """The conversation has its result now (or its entry stands in the file `but`)."""
        for path, entries in self._lists.items():
            if path != but and entries.pop((*self._model, conversation_id, mode), None) is not None:
                self._save(path)

    def join_shards(self, done: Container[tuple[str, str]]) -> None:
        """Have this model's entries in this one list, but those whose (conversation, mode) is done. No shard runs."""
        own = [(path, key) for path, entries in self._lists.items() for key in entries if key[:2] == self._model]
        moved = [(key, self._lists[path].pop(key)) for path, key in own]
        moved.sort(key=lambda item: str(item[1].get("when")))
        self._lists[self.path].update({key: entry for key, entry in moved if key[2:] not in done})
        for path in self._lists:  # this one first: a kill leaves an entry twice rather than nowhere
            self._save(path)

    def _save(self, path: Path) -> None:
        if entries := self._lists[path]:
            write_json(path, {"schema_version": 1, "skipped": list(entries.values())})
        else:
            path.unlink(missing_ok=True)
