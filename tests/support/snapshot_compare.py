"""What a folder of results holds, in the form in which it is kept and compared, and how two of them differ.

Compared are ids, values, n, intervals, p, the targets of drills and journal rows, numbers to nine digits. Not compared
are sentences, times, versions, the order of keys, and of the journal everything that names a call by a hash.
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
import tarfile
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

DIGITS = 12
WITHIN = 1e-9
BY_THE_WAY = frozenset(
    (
        *("run_timestamp", "duration_seconds", "attunebench_version", "created", "when", "run_again", "rejudged"),
        *("reparsed", "plan_sha256"),  # the latter is of the code that plans
    )
)
"""Times, versions and commands."""
OF_JUDGES_CALLS = re.compile(r"judge_calls_sha256")
"""Digests of the identities of judges' calls, which are to change."""
SENTENCES = frozenset(
    (
        *("title", "question", "shows", "cannot", "missing", "warnings", "notes", "caption", "label", "meaning"),
        *("reason", "text", "asks", "formula"),
    )
)
"""Keys whose strings are for readers; a `question` that is an id stays."""
ROW = (
    *("conversation_id", "mode", "turn", "kind", "provider", "model", "ask", "prompt_sha256", "max_tokens"),
    *("parameters", "text", "finish_reason", "refusal", "reasoning", "cost", "prompt_tokens", "cached_tokens"),
    *("completion_tokens", "reasoning_tokens", "error_outcome", "tries", "structured", "served_model"),
)
"""The columns of a journal that are compared; of texts a digest is kept."""
CLOSED = re.compile(r"/(em_\w+|items|fourBranchScores|pairwise_assignment|reply_labels|journal)(/[^/]+)?$")
"""Objects whose keys are data: a key more in them is a difference, not a new field."""
LATER = ("scores.json", "analyses.json", "drills.json")
"""What is computed from results."""
Parts = dict[str, Any]
"""Name of a file of the snapshot → its content."""


def parts_of(folder: Path, **renamed: str) -> Parts:
    """Everything of a results folder that is kept; `renamed` fields (`provider`) are called so."""
    found = [{**_read(path), **renamed} for path in sorted(folder.glob("[!_.]*_*.json"))]
    names = ("conversationId", "provider", "em_model", "mode")
    results = {"_".join(result[name] for name in names): result for result in found}
    entries = [entry for path in sorted(folder.glob("_skipped_*.json")) for entry in _read(path)["skipped"]]
    skipped = [entry | {key: renamed[key] for key in entry.keys() & renamed.keys()} for entry in entries]
    made = {tuple(result[key] for key in ("conversationId", "mode", "em_model")) for result in results.values()}
    parts: Parts = {f"results/{name}.json": tidy(result) for name, result in results.items()}
    parts["skipped.json"] = _without_sentences(tidy(skipped))
    parts["journal.json"] = {"journal": journal_of(folder, made)}
    for name in ("scores", "analyses"):
        if (path := folder / f"{name}.json").exists():
            parts[path.name] = _without_sentences(tidy(_read(path)), all_texts=name == "analyses")
    if (path := folder / "drills.json").exists():
        parts[path.name] = {place: _target(drill) for place, drill in _read(path).items()}
    return parts


def _target(drill: Mapping[str, Any]) -> dict[str, Any]:
    """What a cell leads to; of conversations and turns a digest."""
    target = {key: value for key, value in drill.items() if value is not None}
    return target | {
        key: _digest(json.dumps(sorted(target[key]))) for key in ("conversations", "turns") if key in target
    }


def _digest(text: str) -> str:
    return f"{len(text)} {sha256(text.encode()).hexdigest()[:12]}"


def journal_of(folder: Path, made: Collection[tuple[str, ...]]) -> dict[str, Any]:
    """The replies in a folder's journals by what was asked, of conversations that every model has `made` in that mode:
    which calls of one that fails were sent before the failure was known is a matter of chance."""
    models = {model for *_, model in made}
    rows = defaultdict(list)
    for path in sorted(folder.glob("_calls*.sqlite3")):
        with closing(sqlite3.connect(path)) as database:
            database.row_factory = sqlite3.Row
            for row in map(dict, database.execute("SELECT * FROM replies")):
                if all((row["conversation_id"], row["mode"], model) in made for model in models):
                    found = _row(row)
                    names = ("conversation_id", "mode", "turn", "kind", "model", "ask", "max_tokens")
                    rows["|".join(str(found.pop(name)) for name in names)].append(found)
    return {key: sorted(found, key=lambda row: json.dumps(row, sort_keys=True)) for key, found in sorted(rows.items())}


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: row.get(name) for name in ROW}
    found["parameters"] = json.loads(row["parameters"])
    found["prompt_sha256"] = row["prompt_sha256"][:16]
    for name in ("text", "refusal", "reasoning"):
        if found[name] is not None:
            found[name] = _digest(found[name])
    return dict(tidy(found))


def tidy(value: Any) -> Any:
    """Without what is by the way, numbers rounded, lists of objects with an id or a name as objects by these."""
    if isinstance(value, dict):
        kept = {key: each for key, each in value.items() if key not in BY_THE_WAY and not OF_JUDGES_CALLS.match(key)}
        return {key: tidy(each) for key, each in kept.items()}
    if isinstance(value, list):
        return [tidy(each) for each in value]
    if isinstance(value, float) and math.isfinite(value):
        return float(f"{value:.{DIGITS}g}")
    return value


def _by_id(value: Any) -> Any:
    """Lists of objects as an object by what names each of them, as far as that is unique."""
    if isinstance(value, dict):
        return {key: _by_id(each) for key, each in value.items()}
    if not isinstance(value, list):
        return value
    names = [_name(each) for each in value]
    if value and all(names) and len(set(names)) == len(names):
        return {name: _by_id(each) for name, each in zip(names, value, strict=True)}
    return [_by_id(each) for each in value]


def _name(value: Any) -> str:
    if not isinstance(value, dict):
        return ""
    keys = ("conversationId", "provider", "em_model", "model", "mode", "epoch")
    if "conversationId" in value or "em_model" in value:
        return "|".join(str(value[key]) for key in keys if value.get(key) is not None)
    return next((value[key] for key in ("id", "name") if isinstance(value.get(key), str)), "")


def _without_sentences(value: Any, *, all_texts: bool = False) -> Any:
    """Without strings for readers; `all_texts`: whatever has a space is one."""

    def is_sentence(key: str, each: Any) -> bool:
        if isinstance(each, list):
            return key in SENTENCES and all(isinstance(entry, str) for entry in each)
        spoken = isinstance(each, str) and (" " in each or each == "")
        return (spoken and (all_texts or key in SENTENCES)) or (isinstance(each, str) and key in ("title", "label"))

    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            kept = {name: each for name, each in value.items() if not is_sentence(name, each)}
            return {name: strip(each) for name, each in kept.items()}
        if isinstance(value, list):
            return [strip(each) for each in value]
        return "…" if is_sentence("", value) else value

    return _by_id(strip(value))


def differences(
    kept: Parts, made: Parts, *, strict: bool = False, allowed: Mapping[str, str] | None = None
) -> list[str]:
    """The differences by file and place. What only `made` knows counts where keys are data or files, or if `strict`.

    `allowed` holds patterns of places (`file/key/key…`) and why these may differ.
    """
    found = [f"{name}: not there now" for name in kept.keys() - made.keys()]
    found += [f"{name}: not there before" for name in made.keys() - kept.keys()]
    # What was computed first comes first.
    for name in sorted(
        kept.keys() & made.keys(), key=lambda name: (not name.startswith("results/"), name in LATER, name)
    ):
        found += _different(kept[name], made[name], name, strict)
    return [each for each in found if not any(re.search(pattern, each) for pattern in allowed or ())]


def _different(kept: Any, made: Any, place: str, strict: bool) -> Iterator[str]:
    if isinstance(kept, dict) and isinstance(made, dict):
        for key in (key for key in kept if key not in BY_THE_WAY):
            if key in made:
                yield from _different(kept[key], made[key], f"{place}/{key}", strict)
            else:
                yield f"{place}/{key}: was {_short(kept[key])}, is gone"
        if strict or CLOSED.search(place):
            yield from (f"{place}/{key}: is new, {_short(made[key])}" for key in made.keys() - kept.keys())
    elif isinstance(kept, list) and isinstance(made, list) and len(kept) == len(made):
        for number, (old, new) in enumerate(zip(kept, made, strict=True)):
            yield from _different(old, new, f"{place}/{number}", strict)
    elif not _same(kept, made):
        yield f"{place}: was {_short(kept)}, is {_short(made)}"


def _same(kept: Any, made: Any) -> bool:
    if isinstance(kept, int | float) and isinstance(made, int | float) and not isinstance(kept, bool):
        return math.isclose(kept, made, rel_tol=WITHIN, abs_tol=1e-12) or (math.isnan(kept) and math.isnan(made))
    return bool(kept == made)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else f"{text[:157]}…"


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def write(path: Path, folders: Mapping[str, Parts]) -> None:
    """An archive that is the same for the same content."""
    with tarfile.open(path, "w:xz", preset=9) as archive:
        for folder, parts in sorted(folders.items()):
            for name, content in sorted(parts.items()):
                text = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()
                entry = tarfile.TarInfo(f"{folder}/{name}")
                entry.size = len(text)
                archive.addfile(entry, BytesIO(text))


def read(path: Path) -> dict[str, Parts]:
    """Folder → its parts, of an archive."""
    folders: dict[str, Parts] = defaultdict(dict)
    with tarfile.open(path, "r:xz") as archive:
        for entry in archive:
            content = archive.extractfile(entry)
            assert content is not None
            folder, _, name = entry.name.partition("/")
            folders[folder][name] = json.loads(content.read())
    return dict(folders)
