"""Conversations for loops of many small runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from attunebench.conversations.loading import demo_folder


def small_conversations(folder: Path, turns: Sequence[int] = (2, 1, 1)) -> Path:
    """The first demonstration conversations, each cut to so many turns."""
    folder.mkdir()
    for path, count in zip(sorted(demo_folder().glob("*.json")), turns, strict=False):
        conversation = json.loads(path.read_bytes())
        conversation["turns"] = conversation["turns"][:count]
        (folder / path.name).write_text(json.dumps(conversation), encoding="utf-8")
    return folder
