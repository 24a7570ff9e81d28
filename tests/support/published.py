"""Sources of published subsets, made up: conversations under published numbers, in folders, zips and tars."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from factory import make_conversation

from attunebench.datasets.subsets import published_subsets

SMALL = "Subsample20"
"""The subset that tests get where any will do."""
TOP = "attunebench-main"


@cache
def conversation(number: int) -> bytes:
    """A valid conversation of one turn, the same for a number every time."""
    made = make_conversation(number, turns=1)
    made["conversationId"] = f"published-{number}"
    return json.dumps(made).encode()


def files(subset: str = SMALL, folder: str = f"{TOP}/data", without: Iterable[int] = ()) -> dict[str, bytes]:
    """Path → bytes of every conversation of a subset but some."""
    return {
        f"{folder}/conversation_{number}.json".lstrip("/"): conversation(number)
        for number in sorted(published_subsets()[subset] - set(without))
    }


def zipped(content: Mapping[str, bytes]) -> bytes:
    """A zip of these files, the same every time."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def tarred(content: Mapping[str, bytes], mode: str = "w:gz") -> bytes:
    """A tar of these files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in content.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def in_folder(content: Mapping[str, bytes], folder: Path) -> Path:
    """These files under a folder."""
    for name, data in content.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def tree(folder: Path) -> dict[str, bytes]:
    """Everything in a folder, hidden files too: relative path → bytes, and b"" with a slash for an empty folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}".encode()
        elif path.is_file():
            found[name] = path.read_bytes()
        elif not any(path.iterdir()):
            found[f"{name}/"] = b""
    return found
