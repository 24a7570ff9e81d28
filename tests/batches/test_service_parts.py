"""What goes next, and how much of it, where a service takes no more."""

from __future__ import annotations

from pathlib import Path

import pytest

from attunebench.batches.parts import MOST_REFUSALS, SMALLEST, Part, Queue
from attunebench.batches.requests import RequestFile
from attunebench.errors import ConfigurationError


def part(model: str = "m", requests: int = 100, start: int = 0) -> Part:
    return Part("aa", RequestFile(Path("x"), model, start, requests), start, start + requests)


def test_everything_goes_at_once_as_long_as_nothing_is_refused() -> None:
    queue = Queue()
    queue.parts += [part(), part(start=100)]
    assert (0, 100) == (queue.take(()).start, queue.take(("m",)).start)  # type: ignore[union-attr]
    assert queue.take(()) is None


def test_after_a_refusal_a_model_gets_one_batch_at_a_time_and_others_are_not_held_up() -> None:
    queue = Queue()
    queue.parts += [part(start=100), part("other")]
    queue.too_much(part(), alone=False)
    assert "other" == queue.take(("m",)).model  # type: ignore[union-attr]
    assert queue.take(("m",)) is None
    assert 0 == queue.take(("other",)).start  # type: ignore[union-attr]


def test_a_batch_that_is_too_much_by_itself_is_halved_and_so_are_those_behind_it() -> None:
    queue = Queue()
    queue.parts += [part(start=100)]
    queue.too_much(part(requests=75), alone=True)
    taken = []
    while (each := queue.take(())) is not None:
        taken.append((each.start, each.stop, each.file.start))
    assert [(0, 38, 0), (38, 75, 0), (100, 138, 100), (138, 176, 100), (176, 200, 100)] == taken


def test_nothing_is_cut_below_the_floor_and_tried_for_ever() -> None:
    queue = Queue()
    queue.too_much(part(requests=SMALLEST + 1), alone=True)
    smallest = queue.take(())
    assert smallest is not None
    assert SMALLEST == smallest.requests
    for _ in range(MOST_REFUSALS - 1):
        queue.too_much(smallest, alone=True)
        assert smallest == queue.take(())
    with pytest.raises(ConfigurationError, match=f"even {SMALLEST} requests"):
        queue.too_much(smallest, alone=True)


def test_the_content_of_a_part_is_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    path.write_bytes(b"".join(b"%d\n" % number for number in range(10)))
    requests = RequestFile(path, "m", 5, 10)
    with Part("aa", requests, 5, 8).content() as (file, size):
        assert (b"0\n1\n2\n", 6) == (file.read(), size)
    with Part("aa", requests, 10, 15).content() as (file, _):
        assert b"5\n6\n7\n8\n9\n" == file.read()
