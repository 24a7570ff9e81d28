"""User-facing sentences keep to the words of CONTRIBUTING.md."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOT_OURS = re.compile(
    r"\b(?:(?:the|whole|longer|those|many|how many) talks?|foresee[ns]?|foretold|told apart|by lot|mended|reasks?|"
    r"votes? (?:is|are|stays?) owed|passes over|could have been found|without listening|other way round: )\b"
)
CHECKED = [
    *(path for path in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")] if path.name != "CONTRIBUTING.md"),
    *(path for suffix in ("py", "html", "json", "txt") for path in (ROOT / "attunebench").rglob(f"*.{suffix}")),
]


def texts(path: Path) -> Iterator[str]:
    """What a user may read of a file: of code the strings that are sentences, and what a command's help shows."""
    text = path.read_text("utf-8")
    if path.suffix != ".py":
        # IDs, options and keys keep the names that they were published with.
        yield from re.sub(r"`[^`\n]*`|--[a-z-]+|\{[{%].*?[%}]\}", "", text).splitlines()
        return
    tree = ast.parse(text)
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    shown = "cli" in path.parts or "metrics" in path.parts
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and (shown or id(node) not in inner):
            yield re.sub(r"`[^`]*`|--[a-z-]+", "", node.value)


def test_sentences_use_the_words_of_the_field() -> None:
    # Most files hold none of these words anywhere, also across the lines of a string, and need no closer look.
    suspects = [path for path in CHECKED if NOT_OURS.search(re.sub(r"""["']\s*f?["']""", "", path.read_text("utf-8")))]
    found = [
        (path, word) for path in suspects for text in texts(path) if " " in text for word in NOT_OURS.findall(text)
    ]
    assert [] == found
