"""How every command gets its conversations and its codebook, and what it says about them on stderr."""

from __future__ import annotations

from pathlib import Path

from attunebench.cli.emitting import say
from attunebench.codebook import Codebook, codebook_for, default_codebook, load_codebook
from attunebench.conversations import ConversationSet, load_conversations
from attunebench.text import printable


def load(
    folder: Path, codebook: Path | None, *, skip_invalid: bool = False, quiet: bool = False
) -> tuple[ConversationSet, Codebook]:
    """The conversations and the codebook that goes with them: the given one, the one beside the data, or ours."""
    loaded = load_conversations(folder, skip_invalid=skip_invalid)
    for file in loaded.skipped:
        say(f"Left out {printable(file.file)}: {printable('; '.join(file.reasons))}")
    if not quiet and loaded.warnings:
        say(f"{len(loaded.warnings)} warnings about the data; `attune-bench validate` lists them.")
    return loaded, choose_codebook(folder, codebook, quiet=quiet)


def choose_codebook(folder: Path, codebook: Path | None, *, quiet: bool = False) -> Codebook:
    """The codebook of a conversations folder; says which one where it is not our own."""
    path = codebook or codebook_for(folder)
    if path is None:
        return default_codebook()
    book = load_codebook(path)
    if not quiet and book.sha256 != default_codebook().sha256:
        say(f"Codebook: {path}.")
        if book.borrowed:
            say(f"It lacks {', '.join(book.borrowed)}; these come from the built-in codebook.")
    return book
