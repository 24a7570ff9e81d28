"""Downloads from servers that behave in every way: what arrives is whole, and what does not is said in a sentence."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from archive_server import ArchiveServer, Behaviour, answer, cut, plain, whole
from published import SMALL, files, tarred, tree, zipped

from attunebench.datasets import bounds
from attunebench.datasets.downloading import MOST_TRIES, TRIES
from attunebench.datasets.failures import next_address
from attunebench.datasets.getting import Got, get
from attunebench.datasets.placing import WORK_NAME
from attunebench.datasets.sources import Address
from attunebench.errors import DataError

ARCHIVE = zipped(files())
HALF = len(ARCHIVE) // 2


class Notes:
    """Keeps what is said meanwhile."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def step(self, what: str, total: int | None, *, unit: str) -> None:
        """See `Watcher`."""

    def reached(self, done: int) -> None:
        """See `Watcher`."""

    def note(self, sentence: str) -> None:
        """See `Watcher`."""
        self.notes.append(sentence)


class Desk:
    """Gets the small subset from a server into a folder, without waiting; `waits` are the seconds that it would."""

    def __init__(self, server: ArchiveServer, parent: Path) -> None:
        self.server = server
        self.parent = parent
        self.target = parent / SMALL
        self.waits: list[float] = []
        self.watcher = Notes()

    async def pause(self, seconds: float) -> None:
        self.waits.append(seconds)

    def get(self, *script: Behaviour, url: str | None = None, sha256: str | None = None) -> Got:
        self.server.script[:] = script
        (got,) = get(
            SMALL,
            source=url or self.server.url,
            to=self.target,
            sha256=sha256,
            watcher=self.watcher,
            pause=self.pause,
        )
        return got

    def refusal(self, *script: Behaviour, url: str | None = None, sha256: str | None = None) -> str:
        with pytest.raises(DataError) as raised:
            self.get(*script, url=url, sha256=sha256)
        assert not self.target.exists()
        return str(raised.value)

    @property
    def asked(self) -> list[str | None]:
        """The range that each request asked for."""
        return [request.get("range") for request in self.server.requests]

    @property
    def left(self) -> list[str]:
        """What is in the work folder."""
        work = self.parent / WORK_NAME
        return sorted(path.name for path in work.iterdir()) if work.is_dir() else []


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with ArchiveServer(ARCHIVE) as server:
        yield Desk(server, tmp_path / "place")


def is_whole(desk: Desk) -> bool:
    """Whether the subset is there to the byte, with its manifest, and nothing else."""
    expected = {name.rpartition("/")[2]: data for name, data in files().items()}
    found = tree(desk.parent)
    found.pop(f"{SMALL}/attunebench-manifest.json")
    return found == {f"{SMALL}/{name}": data for name, data in expected.items()}


def test_an_archive_arrives_in_one_request_and_nothing_else_is_left(desk: Desk) -> None:
    got = desk.get()
    assert (20, (), ()) == (got.n_conversations, got.missing, got.invalid)
    assert [None] == desk.asked
    assert is_whole(desk)


def test_a_tar_is_taken_by_its_content_whatever_its_address_is_called(desk: Desk) -> None:
    desk.server.body = tarred(files())
    desk.get()
    assert is_whole(desk)


def test_a_cut_connection_is_gone_on_with_where_it_broke(desk: Desk) -> None:
    desk.get(cut(1000), cut(500))
    assert [None, "bytes=1000-", "bytes=1500-"] == desk.asked
    assert 2 == len(desk.waits)
    assert is_whole(desk)


def test_the_next_command_goes_on_where_the_last_one_gave_up(desk: Desk) -> None:
    said = desk.refusal(cut(HALF), *[answer(503)] * TRIES)
    assert "are kept" in said
    assert "Repeat the command" in said
    assert ["archive.json", "archive.part", "lock"] == desk.left
    desk.server.requests.clear()
    desk.get()
    assert [f"bytes={HALF}-"] == desk.asked
    assert is_whole(desk)


def test_a_server_that_ignores_ranges_begins_anew(desk: Desk) -> None:
    desk.get(cut(HALF), whole)
    assert is_whole(desk)
    assert ["begins anew" in note for note in desk.watcher.notes] == [False, True]


def test_without_a_version_nothing_is_pieced_together(desk: Desk) -> None:
    desk.get(lambda exchange: whole(exchange, HALF))
    assert [None, None] == desk.asked
    assert is_whole(desk)


def test_an_archive_that_changes_between_tries_is_taken_anew(desk: Desk) -> None:
    def changing(exchange: object) -> None:
        desk.server.body, desk.server.etag = zipped(files(folder="newer")), '"two"'
        plain(exchange)  # type: ignore[arg-type]

    desk.get(cut(HALF), changing)
    assert any("another one by now" in note for note in desk.watcher.notes)
    assert is_whole(desk)


def test_a_server_that_sends_the_rest_of_another_version_is_not_believed(desk: Desk) -> None:
    newer = zipped(files(folder="newer"))
    other = answer(206, newer[HALF:], ETag='"two"', Content_Range=f"bytes {HALF}-{len(newer) - 1}/{len(newer)}")
    desk.get(cut(HALF), other)
    assert [None, f"bytes={HALF}-", None] == desk.asked
    assert is_whole(desk)


@pytest.mark.parametrize("start", [0, HALF - 1, HALF + 1])
def test_a_server_that_sends_another_range_than_was_asked_is_not_believed(desk: Desk, start: int) -> None:
    size = len(ARCHIVE)
    other = answer(206, ARCHIVE[start:], ETag='"one"', Content_Range=f"bytes {start}-{size - 1}/{size}")
    desk.get(cut(HALF), other)
    assert is_whole(desk)


def test_a_download_that_was_whole_when_it_was_killed_is_not_fetched_again(desk: Desk) -> None:
    desk.server.body = zipped(files(without=[13]))
    assert "lacks 1 of the 20" in desk.refusal()
    assert "lacks 1 of the 20" in desk.refusal()
    assert [None, '"one"'] == [request.get("if-none-match") for request in desk.server.requests]


def test_an_end_that_came_without_word_of_it_is_asked_about_once(desk: Desk) -> None:
    desk.refusal(cut(HALF), answer(404))
    with (desk.parent / WORK_NAME / "archive.part").open("ab") as file:
        file.write(ARCHIVE[HALF:])
    desk.server.requests.clear()
    desk.get()
    assert [f"bytes={len(ARCHIVE)}-"] == desk.asked
    assert is_whole(desk)


def test_a_length_that_promises_more_than_comes_is_trouble_of_the_line(desk: Desk) -> None:
    desk.get(answer(200, ARCHIVE[:HALF], Content_Length=str(len(ARCHIVE))))
    assert is_whole(desk)


def test_a_length_that_promises_less_than_an_archive_makes_it_unsound(desk: Desk) -> None:
    def short(exchange: object) -> None:
        exchange.head(200, {"Content-Length": str(HALF)})  # type: ignore[attr-defined]
        exchange.wfile.write(ARCHIVE[:HALF])  # type: ignore[attr-defined]

    assert "no sound archive" in desk.refusal(short)
    assert [] == desk.left


def test_a_line_that_brings_nothing_is_given_up_after_a_few_tries(desk: Desk) -> None:
    said = desk.refusal(*[cut(0)] * 50)
    assert f"(after {TRIES} tries)" in said
    assert "--from" in said
    assert TRIES == len(desk.server.requests)


def test_a_line_that_brings_a_little_each_time_is_given_up_too(desk: Desk) -> None:
    assert f"(after {MOST_TRIES} tries)" in desk.refusal(*[cut(10)] * 50)
    assert MOST_TRIES == len(desk.server.requests)


def test_the_servers_wish_to_wait_is_followed_and_a_long_one_is_passed_on(desk: Desk) -> None:
    desk.get(answer(429, Retry_After="7"), answer(503, Retry_After="9"))
    assert [7.0, 9.0] == desk.waits
    desk.waits.clear()
    desk.target = desk.target.with_name("other")
    assert "asks to wait 3600 s (after 1 try)" in desk.refusal(answer(429, Retry_After="3600"))
    assert [] == desk.waits


@pytest.mark.parametrize(
    ("status", "told"),
    [(404, "nothing at"), (410, "any more"), (403, "may not be read"), (401, "wants a login"), (400, "answered 400")],
)
def test_what_no_second_try_can_heal_is_said_at_once_with_the_remedy(desk: Desk, status: int, told: str) -> None:
    said = desk.refusal(answer(status))
    assert told in said
    assert "--from" in said
    assert 1 == len(desk.server.requests)
    assert not desk.parent.exists()


def test_a_web_page_is_no_archive_and_is_not_kept(desk: Desk) -> None:
    said = desk.refusal(answer(200, b"<!DOCTYPE html><title>Log in</title>", Content_Type="text/html"))
    assert "is a web page and no archive" in said
    assert not desk.parent.exists()


def test_redirects_are_followed_and_a_loop_of_them_ends(desk: Desk) -> None:
    desk.get(answer(302, Location="/elsewhere"), answer(307, Location=desk.server.url))
    assert ["/data.zip", "/elsewhere", "/data.zip"] == [request["path"] for request in desk.server.requests]
    assert is_whole(desk)
    desk.target = desk.target.with_name("other")
    assert "redirects more than 5 times" in desk.refusal(*[answer(302, Location="/again")] * 50)


@pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://example.org/x", "http://a:b/", "http://a\x07b/"])
def test_a_redirect_leads_nowhere_but_to_the_web(desk: Desk, location: str) -> None:
    with pytest.raises(DataError, match="no address on the web"):
        next_address(Address(desk.server.url), location)


def test_a_redirect_never_leaves_tls_behind() -> None:
    here = Address("https://example.org/a?signature=secret")
    assert "https://example.org/b" == next_address(here, "/b").url
    assert "https://other.example/b" == next_address(here, "https://me:pass@other.example/b").url
    with pytest.raises(DataError, match=r"from https to http \(other\.example\)") as raised:
        next_address(here, "http://me:pass@other.example/b")
    assert not any(word in str(raised.value) for word in ("secret", "pass"))


def test_a_password_goes_to_its_own_host_and_into_no_message_or_file(desk: Desk, tmp_path: Path) -> None:
    url = desk.server.url.replace("http://", "http://me:s3cret-word@") + "?token=t0ken-word"
    said = desk.refusal(answer(302, Location="/moved"), cut(10), *[answer(500)] * TRIES, url=url)
    first, second, *_ = desk.server.requests
    assert first["authorization"].startswith("Basic ")
    assert "authorization" not in second
    kept = b"".join(tree(tmp_path).values())
    assert not any(word in said + "".join(desk.watcher.notes) for word in ("s3cret", "t0ken"))
    assert not any(word in kept for word in (b"s3cret", b"t0ken"))


def test_a_checksum_is_compared_before_anything_is_unpacked(desk: Desk) -> None:
    right = hashlib.sha256(ARCHIVE).hexdigest()
    said = desk.refusal(sha256="0" * 64)
    assert right in said
    assert [] == desk.left
    desk.get(cut(HALF), sha256=f"sha256:{right.upper()}")
    assert is_whole(desk)


def test_an_archive_that_is_too_large_is_refused_by_its_promise_or_by_its_bytes(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "MOST_ARCHIVE_BYTES", HALF)
    assert "larger than" in desk.refusal()

    def endless(exchange: object) -> None:
        exchange.head(200, {"Connection": "close"})  # type: ignore[attr-defined]
        exchange.wfile.write(ARCHIVE)  # type: ignore[attr-defined]
        exchange.hang_up()  # type: ignore[attr-defined]

    assert "larger than" in desk.refusal(endless)
    assert not desk.parent.exists()


def test_nobody_listening_and_no_tls_are_one_sentence_each(desk: Desk) -> None:
    with ArchiveServer() as gone:
        nobody = gone.url
    assert "no connection to 127.0.0.1" in desk.refusal(url=nobody)
    assert "does not speak TLS" in desk.refusal(url=desk.server.url.replace("http://", "https://"))


def test_a_host_that_nobody_knows_is_one_sentence(desk: Desk) -> None:
    said = desk.refusal(url="http://no-such-host.invalid/data.zip")
    assert "no-such-host.invalid" in said
    assert "--from" in said


def test_without_from_the_published_repository_is_asked_and_no_other_host(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts: list[str] = []

    def connect(exchange: object) -> None:
        hosts.append(exchange.path)  # type: ignore[attr-defined]
        exchange.head(403, {"Content-Length": "0"})  # type: ignore[attr-defined]

    monkeypatch.setattr("archive_server.Exchange.do_CONNECT", connect, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", desk.server.url.removesuffix("/data.zip"))
    with pytest.raises(DataError, match="proxy on the way to codeload"):
        get(SMALL, to=desk.target, pause=desk.pause)
    assert ["codeload.github.com:443"] == hosts


def test_without_a_source_the_page_of_the_published_repository_is_named_beforehand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attunebench.datasets.getting.PUBLISHED", str(tmp_path / "archive.zip"))
    (tmp_path / "archive.zip").write_bytes(ARCHIVE)
    notes = Notes()
    get(SMALL, to=tmp_path / SMALL, watcher=notes)
    assert "From the published repository, https://github.com/Thoughtful-Lab/attunebench." == notes.notes[0]
