"""`prompts show` steers no terminal, and gives a pipe the prompt to the letter."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from factory import make_conversation

from attunebench.codebook import default_codebook
from attunebench.conversations.reading import read_conversation
from attunebench.protocol.plan import show_prompt

LINK = "\x1b]8;;http://127.0.0.1:9/\x07link\x1b]8;;\x07"
HOSTILE = f"\x1b[31mred{LINK} \x9b2J \x07 \u202egpj.exe\u202c \u2066x \u200b \r over \x00"


@pytest.fixture
def conversation(tmp_path: Path) -> Path:
    raw = make_conversation(3, turns=1)
    raw["turns"][0]["userMessage"] = HOSTILE
    path = tmp_path / "conversation_3.json"
    path.write_text(json.dumps(raw))
    return path


def command(conversation: Path) -> list[str]:
    words = ["prompts", "show", "--conversation", str(conversation), "--turn", "1", "--call", "draft"]
    return [sys.executable, "-m", "attunebench.cli.main", *words]


def expected(conversation: Path) -> str:
    found, _ = read_conversation(json.loads(conversation.read_text()))
    assert found is not None
    return show_prompt(found, 1, "draft", "default", default_codebook())


def test_a_pipe_gets_every_character(conversation: Path) -> None:
    ended = subprocess.run(command(conversation), capture_output=True, check=True)
    assert expected(conversation).encode() == ended.stdout
    assert HOSTILE.encode() in ended.stdout


def test_on_a_terminal_what_would_steer_it_is_shown_as_code_points(conversation: Path) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(command(conversation), stdout=theirs, stderr=subprocess.PIPE) as process:
        os.close(theirs)
        shown = _all_of(ours).decode()
        assert 0 == process.wait()
    text = shown.replace("\r\n", "\n")
    assert not [char for char in text if char in "\x1b\x07\x9b\x00\r\u202e\u202c\u2066\u200b"]
    assert "‹U+001B›[31mred" in text
    assert len(expected(conversation).split("\n")) == len(text.split("\n"))


def _all_of(ours: int) -> bytes:
    parts = []
    try:
        while part := os.read(ours, 65_536):
            parts.append(part)
    except OSError:  # the other side is closed
        pass
    os.close(ours)
    return b"".join(parts)
