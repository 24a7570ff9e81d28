"""User-facing sentences keep to the words of CONTRIBUTING.md."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("path", sorted(CHECKED), ids=lambda path: str(path.relative_to(ROOT)))
def test_sentences_use_the_words_of_the_field(path: Path) -> None:
    assert [] == [found.group() for text in texts(path) if " " in text and (found := NOT_OURS.search(text))]
