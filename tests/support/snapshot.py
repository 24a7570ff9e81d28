"""Makes the snapshot of what the code of today computes, or compares it with the one that is kept.

Usage: python tests/support/snapshot.py [--large] [--check [--strict]]

Without --check the archive in tests/snapshot is written anew: small.tar.xz, or large.tar.xz with --large. With it the
study is made and compared: every difference is a line, and then the exit status is 1. --strict also tells of new keys.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from snapshot_compare import Parts, differences, parts_of, read, write
from snapshot_models import LARGE, SMALL
from snapshot_study import LARGE_ARCHIVE, MODEL, SMALL_ARCHIVE, Workshop, live, plain, score, workshop


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", action="store_true", help="60 conversations, 3 models, 2 modes, 2 judges")
    parser.add_argument("--check", action="store_true", help="compare with the snapshot that is kept")
    parser.add_argument("--strict", action="store_true", help="with --check: new keys are differences too")
    options = parser.parse_args()
    archive = LARGE_ARCHIVE if options.large else SMALL_ARCHIVE
    folders = made(large=options.large)
    if not options.check:
        write(archive, folders)
        print(f"{archive.name}: {archive.stat().st_size:,} bytes")
        return 0
    kept = read(archive)
    found = [f"{name}: not there" for name in kept.keys() ^ folders.keys()]
    for name in sorted(kept.keys() & folders.keys()):
        found += [f"{name}/{each}" for each in differences(kept[name], folders[name], strict=options.strict)]
    print("\n".join(found) or f"Equal to {archive.name}.")
    return 1 if found else 0


def made(*, large: bool) -> dict[str, Parts]:
    """The folders of the snapshot, made now."""
    study = LARGE if large else SMALL
    with tempfile.TemporaryDirectory() as folder, workshop(study, Path(folder)) as at:
        main_folder = _timed("live", lambda at: live(at, models=tuple(study.models) if large else (MODEL,)), at)
        _timed("score and analyze", lambda at: score(at, main_folder), at)
        folders = {"live": parts_of(main_folder)}
        if not large:
            folders["plain"] = parts_of(_timed("plain", plain, at))
        return folders


def _timed(what: str, work: Callable[[Workshop], Any], at: Workshop) -> Any:
    began = time.monotonic()
    result = work(at)
    print(f"{what}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return result


if __name__ == "__main__":
    sys.exit(main())
