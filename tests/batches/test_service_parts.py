"""What goes next, and how much of it, where a service takes no more."""

from __future__ import annotations

from pathlib import Path

import pytest

from attunebench.batches.pending import MOST_REFUSALS, SMALLEST, Queue
from attunebench.batches.requests import RequestFile
from attunebench.errors import ConfigurationError


def file(folder: Path, model: str = "m", requests: int = 100, start: int = 0) -> RequestFile:
    """Requests that say which row they are."""
    path = folder / f"{model}-{start}.jsonl"
    content = b"".join(b"%d\n" % number for number in range(start, start + requests))
    path.write_bytes(content)
    return RequestFile(path, "aa", model, start, requests, len(content))


def all_taken(queue: Queue) -> list[tuple[int, int]]:
    """(start, lines) of what goes when nothing is under way; each file has its own rows and no others."""
    taken = []
    while (each := queue.take(())) is not None:
        rows = range(each.start, each.start + each.lines)
        content = each.path.read_bytes()
        assert list(rows) == [int(row) for row in content.split()]
        assert len(content) == each.bytes
        taken.append((each.start, each.lines))
    return taken


def test_everything_goes_at_once_as_long_as_nothing_is_refused(tmp_path: Path) -> None:
    queue = Queue()
    queue.files += [file(tmp_path), file(tmp_path, start=100)]
    assert (0, 100) == (queue.take(()).start, queue.take(("m",)).start)  # type: ignore[union-attr]
    assert queue.take(()) is None


def test_after_a_refusal_a_model_gets_one_batch_at_a_time_and_others_are_not_held_up(tmp_path: Path) -> None:
    queue = Queue()
    queue.files += [file(tmp_path, start=100), file(tmp_path, "other")]
    queue.too_much(file(tmp_path), alone=False)
    assert "other" == queue.take(("m",)).model  # type: ignore[union-attr]
    assert queue.take(("m",)) is None
    assert 0 == queue.take(("other",)).start  # type: ignore[union-attr]


def test_a_batch_that_is_too_much_by_itself_is_halved_and_so_are_those_behind_it(tmp_path: Path) -> None:
    queue = Queue()
    queue.files += [file(tmp_path, start=75)]
    queue.too_much(file(tmp_path, requests=75), alone=True)
    assert [(0, 38), (38, 37), (75, 38), (113, 38), (151, 24)] == all_taken(queue)


def test_what_is_too_much_once_more_is_cut_once_more(tmp_path: Path) -> None:
    queue = Queue()
    queue.too_much(file(tmp_path), alone=True)
    half = queue.take(())
    assert half is not None
    queue.too_much(half, alone=True)
    assert [(0, 25), (25, 25), (50, 25), (75, 25)] == all_taken(queue)


def test_nothing_is_cut_below_the_floor_and_tried_for_ever(tmp_path: Path) -> None:
    queue = Queue()
    queue.too_much(file(tmp_path, requests=SMALLEST + 1), alone=True)
    smallest = queue.take(())
    assert smallest is not None
    assert SMALLEST == smallest.lines
    for _ in range(MOST_REFUSALS - 1):
        queue.too_much(smallest, alone=True)
        assert smallest == queue.take(())
    with pytest.raises(ConfigurationError, match=f"even {SMALLEST} requests"):
        queue.too_much(smallest, alone=True)
