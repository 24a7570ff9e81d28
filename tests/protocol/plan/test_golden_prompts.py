"""The full wording of one small conversation, so that a change of a prompt is seen in review.

After a wanted change, write the file anew: UPDATE_PROMPTS=1 pytest tests/protocol/plan/test_golden_prompts.py
"""

from __future__ import annotations

import os
from pathlib import Path

from talks import parsed, small_file

from attunebench.codebook import default_codebook
from attunebench.protocol.calls import KINDS, Mode
from attunebench.protocol.plan import show_prompt

GOLDEN = Path(__file__).with_name("golden_prompts.txt")
SHOWN: tuple[Mode, ...] = ("default", "verbose_omniscient")


def all_prompts() -> str:
    conversation = parsed(small_file())
    return "\n".join(
        f"##### {mode} {kind}\n{show_prompt(conversation, 1, kind, mode, default_codebook())}"
        for mode in SHOWN
        for kind in KINDS
    )


def test_prompts_read_as_they_were_reviewed() -> None:
    if os.environ.get("UPDATE_PROMPTS"):
        GOLDEN.write_bytes(all_prompts().encode())
    assert GOLDEN.read_bytes().decode().replace("\r\n", "\n") == all_prompts()
