"""A small study, and hostile and long texts for every place of it where a text can be."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from planted import Plan, Skill, planted_scores

from attunebench.analyses import Settings
from attunebench.conversations.schema import Turn
from attunebench.scores import ConversationEntry, Scores
from attunebench.transcripts import Draft, RawReply

SETTINGS = Settings(resamples=100)
HOSTILE = "<script>alert(1)</script></script><img src=x onerror=alert(2)>\x00\x1b[31m\u202eright to left\u2066 & done"
LONG = "long word " * 10_000


@dataclass
class Texts:
    """Evidence that gives the same texts for every turn."""

    text: str = HOSTILE
    draft: str = LONG
    remarks: Sequence[str] = field(default_factory=tuple)

    def talk(self, conversation_id: str) -> Sequence[Turn]:
        said = {"user_message": f"user {self.text}", "llm_response": f"reply {self.text}", "llm_improved": "other"}
        return [Turn(number=n, **said) for n in range(1, 6)]

    def drafts(self, entry: ConversationEntry) -> Sequence[Draft]:
        return [Draft(n, self.draft, {"judge <b>": {"overall_score": 6}}) for n in range(1, 6)]

    def replies(self, conversation_id: str) -> Sequence[RawReply]:
        return [
            RawReply("test", "strong", "default", n, "review", 0, f'{{"said": "{self.text}"}}') for n in range(1, 6)
        ]


def small_scores() -> Scores:
    """Three models, one of them in two modes, with a plain order; 24 conversations of 16 people."""
    strong = Skill(om=0.95, hp=0.9, pairwise=0.9, tag=0.9, false_tag=0.05, wide=0.9)
    models = {"strong": {"default": strong, "verbose": strong}, "middle": Skill(), "weak": Skill(0.5, 0.5, 0.4, 0.2)}
    return planted_scores(models, Plan(conversations=24, people=16), resamples=100)


def chunk_bytes(page: str, name: str) -> bytes:
    found = re.search(f'id="c-{name}">([^<]*)<', page)
    assert found is not None, name
    return base64.b64decode(found[1])


def chunk(page: str, name: str) -> Any:
    """What a chunk of the page holds, read as the page's script reads it: after a stored block of its dictionary."""
    layer = name.partition("-")[0]
    if f'id="c-dictionary-{layer}"' not in page:
        return json.loads(zlib.decompress(chunk_bytes(page, name)))
    shared = zlib.decompress(chunk_bytes(page, f"dictionary-{layer}"))
    size = len(shared)
    head = bytes((0, size & 255, size >> 8, ~size & 255, ~size >> 8 & 255))
    return json.loads(zlib.decompress(head + shared + chunk_bytes(page, name), -zlib.MAX_WBITS)[size:])
