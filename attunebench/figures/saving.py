"""Figures as bytes and as files: the same bytes each time, each file whole, and no file of anybody else's replaced."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from attunebench.analyses.base import Settings
from attunebench.analyses.verdicts import intervals_text
from attunebench.errors import DataError
from attunebench.figures.catalogue import Picture, Skipped
from attunebench.figures.drawing import drawing
from attunebench.figures.source import Look
from attunebench.files import atomic_write
from attunebench.text import markdown_text

Format = Literal["svg", "png", "pdf"]

STAMP = "attune-bench figures"
"""Stands in every file that is written here, which is how a file of ours is known."""
CAPTIONS, METHODS = "captions.md", "methods.md"
_METHODS = """\
Values are those of the analysis of the same name or the means that all analyses use. No variable is controlled for
unless stated. Lines through markers are intervals; if a marker has no line, its interval cannot be estimated because
all conversations (histories of an arena) have the same value. Hollow markers: too few conversations, histories or
participants for a claim, unless the key says otherwise; “–”: undefined. Chance and the base rate are lines, or
numbers below the axis if a line would compress the models. A model has the same colour, marker and dash in every
figure and in the HTML report."""

_METADATA: Mapping[Format, dict[str, Any]] = {
    # No clock and no version of a library: two runs over the same scores give the same bytes.
    "svg": {"Date": None, "Creator": STAMP},
    "png": {"Software": STAMP},
    "pdf": {"CreationDate": None, "Creator": STAMP, "Producer": None},
}


def render(picture: Picture, format: Format, look: Look) -> bytes:
    """The figure in this format: text as text in svg and pdf, `look.dpi` dots per inch in png."""
    buffer = io.BytesIO()
    with drawing():
        metadata = _METADATA[format] | ({"Title": picture.title} if format != "png" else {"Title": picture.id})
        picture.figure.savefig(buffer, format=format, dpi=look.dpi, metadata=metadata)
    return buffer.getvalue()


def captions(
    pictures: Sequence[Picture], skipped: Sequence[Skipped], warnings: Sequence[str] = (), rules: str = ""
) -> str:
    """A heading and the caption of each figure, and at the end which were not drawn and why; markdown.

    `warnings` stand at the top: they are to be read with every figure. `rules`: whose rules the scores follow.
    """
    parts = [f"<!-- {STAMP} -->\n# Captions", *([f"Rules: {rules}"] if rules else [])]
    if warnings:
        parts.append("\n".join(f"- {markdown_text(warning)}" for warning in warnings))
    parts += [
        f"## {markdown_text(one.title)}\n\n`{one.id}`\n\n{markdown_text(' '.join(one.caption))}" for one in pictures
    ]
    if skipped:
        parts.append("## Not drawn\n\n" + "\n".join(f"- `{one.name}`: {markdown_text(one.reason)}" for one in skipped))
    return "\n\n".join(parts) + "\n"


def methods(pictures: Sequence[Picture], settings: Settings | None, intervals: str = "") -> str:
    """What captions have no room for: what all figures share, then the details of each, every one once; markdown.
    `intervals` says how they were made where no `settings` of analyses do."""
    how = intervals_text(settings) if settings is not None else intervals
    general = f"{' '.join(_METHODS.split())} {how}."
    parts, told = [f"<!-- {STAMP} -->\n# Methods", markdown_text(general)], dict[str, str]()
    for picture in pictures:
        fresh = [part for part in picture.methods if part not in told]
        before = dict.fromkeys(f"See `{told[part]}`." for part in picture.methods if part in told)
        told |= dict.fromkeys(fresh, picture.id)
        text = " ".join(filter(None, (markdown_text(" ".join(fresh)), *before)))
        parts += [f"## {markdown_text(picture.title)}\n\n`{picture.id}`", *filter(None, [text])]
    return "\n\n".join(parts) + "\n"


def write(files: Mapping[str, bytes], folder: Path) -> list[Path]:
    """Write the files, each whole or not at all, into the folder, which is made where it is lacking.

    DataError before anything is written if one of them is there and is none of ours, or where the folder is refused.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        foreign = [name for name in files if not _ours(folder / name)]
        if foreign:
            raise DataError(
                f"{folder / foreign[0]} exists and was not written by this command, so nothing was written; name "
                "another folder."
            )
        for name, content in files.items():
            with atomic_write(folder / name) as file:
                file.write(content)
    except OSError as error:
        raise DataError(f"{folder} cannot be written ({error.strerror or error}); name another folder.") from None
    return [folder / name for name in files]


def _ours(path: Path) -> bool:
    """Whether the place is free or holds what was written here before."""
    if not path.exists() and not path.is_symlink():
        return True
    return path.is_file() and STAMP.encode() in path.read_bytes()
