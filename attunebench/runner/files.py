"""The output folder of a run: names of results, the list of what was skipped, and whole files or none."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Container, Mapping
from pathlib import Path
from typing import Any

from attunebench import coerce
from attunebench.conversations.traits import PROFILE_TASK
from attunebench.errors import DataError
from attunebench.files import atomic_write
from attunebench.journal.entries import name_digest
from attunebench.jsonfile import parse_json
from attunebench.results.votes import View, view_of

Identity = tuple[str, str, str, str]  # conversationId, provider, model, mode

_DISLIKED = re.compile(r"[^A-Za-z0-9._+@-]+")
_LONGEST_NAME = 200
_SKIPPED_KEY = ("provider", "model", "conversationId", "mode")


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write an object, whole or not at all. Raises DataError."""
    text = json.dumps(data, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    try:
        with atomic_write(path) as file:
            # Half a surrogate pair in a model's text is no reason to lose the answer: it is escaped.
            file.write(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise DataError(
            f"{path} cannot be written ({error.strerror or error}); free some space or use another results folder, and "
            "rerun the command."
        ) from error


def prepare_folder(folder: Path) -> None:
    """Make the output folder and try that it can be written. Raises DataError before anything has been paid for."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".attunebench-"):
            pass
    except OSError as error:
        reason = error.strerror or error
        raise DataError(f"The output folder {folder} cannot be written ({reason}); use another one.") from error


def identity_of(data: Mapping[str, Any], task: str = "") -> Identity | None:
    """Whose result this is, or None where the data is no result file of the benchmark or another task."""
    is_of_task = (data.get("task") == PROFILE_TASK) == (task == PROFILE_TASK)
    if "em_model" not in data or "conversationId" not in data or not is_of_task:
        return None
    provider, mode = data.get("provider", "unknown"), data.get("mode", "default")
    return str(data["conversationId"]), str(provider), str(data["em_model"]), str(mode)


def result_name(identity: Identity, task: str = "") -> str:
    """`<conversationId>_<provider>_<model>_<mode or task>.json`, each part cleaned of what file systems or shells
    dislike."""
    parts = (*identity[:3], task or identity[3])
    # A leading "_" marks what is private to a run, "." hides a file, and shells take "-" for an option.
    stem = "_".join(map(clean_name, parts)).lstrip("._-")
    return f"{short_name(stem, *parts)}.json"


class ResultFolder:
    """The result files of one folder by what they are, never by their names; `views` has what is known of each.
    `identify` tells whose result a content is, None for none of the `task`."""

    def __init__(self, folder: Path, identify: Callable[[Mapping[str, Any]], Identity | None], task: str = "") -> None:
        self.folder, self._task = folder, task
        self._paths: dict[Identity, Path] = {}
        self.views: dict[Identity, View] = {}
        self._names: dict[str, Identity | None] = {}
        for path in sorted(folder.glob("*.json")):
            data = read_object(path) or {}
            self._names[path.name.casefold()] = identity = identify(data)
            if identity is not None and identity not in self._paths:
                self._paths[identity], self.views[identity] = path, view_of(data)

    def read(self, identity: Identity) -> Mapping[str, Any] | None:
        path = self._paths.get(identity)
        return read_object(path) if path else None

    def place(self, identity: Identity) -> Path:
        """Where this result is to be written: under its own older name, or a new one. Never at a file of others."""
        path = self._paths.get(identity)
        if path is None:
            name = result_name(identity, self._task)
            # Some file systems fold case. The hash is of the identity, so that a rerun finds the name again.
            if self._names.get(name.casefold(), identity) != identity:
                name = f"{name.removesuffix('.json')}_{name_digest(*identity)[:8]}.json"
            path = self._paths[identity] = self.folder / name
        self._names[path.name.casefold()] = identity
        return path


def short_name(stem: str, *of: str) -> str:
    """The stem, cut to what every file system takes, with a hash of its full name then."""
    return stem if len(stem) <= _LONGEST_NAME else f"{stem[:_LONGEST_NAME]}_{name_digest(*of)[:8]}"


def clean_name(part: str) -> str:
    """One part of a file name: letters, digits and `._+@-`; anything else becomes `-`."""
    return _DISLIKED.sub("-", part).strip(".") or "-"


def read_object(path: Path) -> Mapping[str, Any] | None:
    """The object in a file, or None: somebody else's file in the folder is no reason to stop, nor is a pipe to wait."""
    try:
        data = parse_json(path.read_bytes(), lenient=True) if path.is_file() else None
    except (OSError, ValueError):
        return None
    return data if isinstance(data, dict) else None


def same_answers(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two results hold the same answers and votes, whatever the order in which sums were made."""
    answers = ([each.get(name) for name in ("turns", "post_conversation", "calls")] for each in (one, other))
    return len({json.dumps(each, sort_keys=True) for each in answers}) == 1


class SkippedFile:
    """`_skipped_<model>.json`: what a run left out of one model, why, and how to go on; no file where nothing is.
    `task` keeps the lists of others than the benchmark apart. Each `shard` has a list of its own, so that no two
    processes rewrite one file; without one, those that shards have left are kept up too."""

    def __init__(self, folder: Path, provider: str, model: str, task: str = "", *, shard: str = "") -> None:
        of_task = f"_{clean_name(task)}" if task else ""
        stem = f"{of_task}_skipped_{short_name(clean_name(model), model)}"
        # Other models' names hold no "~" when they are cleaned.
        self.path = folder / f"{stem}{f'~{shard}' if shard else ''}.json"
        self._model = (provider, model)
        others = [] if shard else sorted(folder.glob("*~*.json"))
        # Names of different models may be cleaned to the same one, so the model is part of the key.
        self._lists: dict[Path, dict[tuple[str, ...], dict[str, Any]]] = {}
        for path in (self.path, *(other for other in others if other.name.startswith(f"{stem}~"))):
            listed = (read_object(path) or {}).get("skipped")
            entries = map(coerce.block, listed if isinstance(listed, list) else ())
            self._lists[path] = {tuple(str(entry.get(name)) for name in _SKIPPED_KEY): dict(entry) for entry in entries}

    def add(self, conversation_id: str, mode: str, *, reason: str, tries: int, when: str, again: str) -> None:
        key = (*self._model, conversation_id, mode)
        noted = {"reason": reason, "tries": tries, "when": when, "run_again": again}
        self._lists[self.path][key] = {**dict(zip(_SKIPPED_KEY, key, strict=True)), **noted}
        self._save(self.path)
        self.remove(conversation_id, mode, but=self.path)

    def remove(self, conversation_id: str, mode: str, *, but: Path | None = None) -> None:
        """Take the conversation off all lists but that one."""
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
