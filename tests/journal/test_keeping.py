"""What is kept is found again, whole, in every process that looks."""

from __future__ import annotations

import asyncio
import dataclasses
import sqlite3
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from entries import an_entry, keep, replies
from hypothesis import given, settings
from hypothesis import strategies as st

from attunebench.backends.base import Reply
from attunebench.errors import DataError
from attunebench.journal import Entry, Journal


def found(folder: Path, entry: Entry) -> Entry | None:
    with Journal.read(folder) as journal:
        return journal.find(entry.request_hash)


@pytest.mark.slow
@settings(max_examples=20)
@given(st.lists(replies(), min_size=1, max_size=5))
def test_every_reply_comes_back_as_it_was(given_replies: list[Reply]) -> None:
    entries = [an_entry(number, reply=reply) for number, reply in enumerate(given_replies)]
    with TemporaryDirectory() as folder:
        keep(Path(folder), *entries)
        with Journal.read(Path(folder)) as journal:
            assert entries == list(journal.entries())
            assert entries == [journal.find(entry.request_hash) for entry in entries]


@pytest.mark.parametrize(
    "text", ["", "\0", "a\0b", "\ufeffx", "\U0001f600" * 1000, "x" * 10_000_000, "\x1b[2J", "'; --"]
)
def test_awkward_texts_come_back(tmp_path: Path, text: str) -> None:
    entry = an_entry(reply=Reply(text=text))
    keep(tmp_path, entry)
    assert entry == found(tmp_path, entry)


def test_no_thread_has_to_start_once_a_journal_is_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise RuntimeError("can't start new thread")

    entry = an_entry()
    with Journal.open(tmp_path) as journal:
        monkeypatch.setattr("threading.Thread.start", refuse)
        asyncio.run(journal.keep(entry))
    assert entry == found(tmp_path, entry)


def test_half_a_surrogate_pair_becomes_the_sign_for_it_as_on_the_wire(tmp_path: Path) -> None:
    entry = an_entry(reply=Reply(text="a\ud800b"))
    keep(tmp_path, entry)
    back = found(tmp_path, entry)
    assert back is not None
    assert Reply(text="a\ufffdb") == back.reply


def test_a_request_that_can_never_be_taken_is_an_entry_without_a_reply(tmp_path: Path) -> None:
    entry = an_entry(reply=None, error="too long for the model", error_outcome="unreadable")
    keep(tmp_path, entry)
    assert entry == found(tmp_path, entry)


def test_the_first_reply_to_a_request_stands(tmp_path: Path) -> None:
    first = an_entry(1, reply=Reply(text="first"))
    keep(tmp_path, first, an_entry(1, reply=Reply(text="second")))
    assert first == found(tmp_path, first)


def test_a_closed_journal_leaves_one_file_and_its_lock(tmp_path: Path) -> None:
    keep(tmp_path, an_entry())
    assert ["_calls.sqlite3"] == [path.name for path in tmp_path.iterdir() if not path.name.startswith(".")]


def test_a_shard_has_a_file_of_its_own_and_readers_see_all(tmp_path: Path) -> None:
    keep(tmp_path, an_entry(1))
    keep(tmp_path, an_entry(2), shard="a b/c")
    assert {"_calls.sqlite3", "_calls.a-b-c.sqlite3"} == {path.name for path in tmp_path.glob("*.sqlite3")}
    with Journal.read(tmp_path) as journal:
        assert 2 == journal.count()
        assert {"c1", "c2"} == {entry.conversation_id for entry in journal.entries()}


def test_what_was_learned_of_a_server_is_remembered_and_replaced(tmp_path: Path) -> None:
    for learned in ({"temperature": "not accepted"}, {"seed": "not accepted"}):
        with Journal.open(tmp_path) as journal:
            journal.learn("local", "u", "m", learned)
    with Journal.read(tmp_path) as journal:
        assert {"seed": "not accepted"} == journal.terms("local", "u", "m")
        assert {} == journal.terms("local", "u", "other")


def test_people_find_plain_columns(tmp_path: Path) -> None:
    keep(tmp_path, an_entry(reply=Reply(text="hello", model="served", headers={"x-request-id": "7"})))
    connection = sqlite3.connect(tmp_path / "_calls.sqlite3")
    row = connection.execute("SELECT kind, text, served_model, headers, ask, seconds FROM replies").fetchone()
    connection.close()
    assert ("draft", "hello", "served", '{"x-request-id": "7"}', 0, 1.5) == row


def test_a_number_that_no_column_holds_fails_its_batch_and_not_the_journal(tmp_path: Path) -> None:
    async def go() -> None:
        with Journal.open(tmp_path) as journal:
            with pytest.raises(DataError, match="cannot be written"):
                await journal.keep(dataclasses.replace(an_entry(1), tries=2**70))
            await journal.keep(an_entry(2))

    asyncio.run(go())
    assert found(tmp_path, an_entry(1)) is None
    assert an_entry(2) == found(tmp_path, an_entry(2))


def test_a_row_that_the_disk_has_changed_is_never_taken_for_a_reply(tmp_path: Path) -> None:
    keep(tmp_path, an_entry())
    path = tmp_path / "_calls.sqlite3"
    data = path.read_bytes()
    assert b"reply 0 word" in data
    path.write_bytes(data.replace(b"reply 0 word", b"reply 0 wort"))
    with pytest.raises(DataError, match=r"_calls\.sqlite3.*c0/default/1/draft.*move it away"):
        found(tmp_path, an_entry())


def test_nobody_waits_for_ever_behind_what_no_file_can_hold(tmp_path: Path) -> None:
    async def story(journal: Journal) -> None:
        journal.learn("local", "http://localhost/v1", "half a pair: \ud800", {})
        with suppress(DataError):  # where both are in one commit
            await asyncio.wait_for(journal.flush(), 10.0)
        await asyncio.wait_for(journal.keep(entry), 10.0)

    entry = an_entry()
    with Journal.open(tmp_path) as journal:
        asyncio.run(story(journal))
    assert entry == found(tmp_path, entry)
