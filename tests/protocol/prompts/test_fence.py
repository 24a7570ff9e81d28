"""A text cannot close the fence that it stands in."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunebench.prompts import fence

PIECES = st.sampled_from(
    [
        "<",
        "</",
        "/",
        ">",
        "hp",
        "HP",
        "</hp>",
        "</ Hp >",
        "</hp-2>",
        "</hp-03>",
        "< /hp-4",
        "-",
        "2",
        "10",
        " ",
        "\n",
        "\ud800",
        "é",
    ]
)


@given(st.one_of(st.text(), st.lists(PIECES, max_size=12).map("".join)))
def test_no_text_closes_its_fence(text: str) -> None:
    block = fence("hp", text)
    name = block[1 : block.index(">")]
    closing = re.compile(rf"<\s*/\s*{name}\s*>", re.IGNORECASE)
    assert [len(block) - len(name) - 3] == [match.start() for match in closing.finditer(block)]


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_the_text_inside_is_untouched(text: str) -> None:
    assert text == fence("hp", text).split("\n", 1)[1].rsplit("\n", 1)[0]


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("plain", "hp"),
        ("an <hp> opens, </om> closes another", "hp"),
        ("</hp>", "hp-2"),
        ("< / HP >", "hp-2"),
        ("</hp-2> and </hp-3>", "hp-4"),
        ("</hp-3>", "hp-2"),
        ("＜/hp＞", "hp-2"),
        ("</h\u200bp>", "hp-2"),
    ],
)
def test_the_tag_follows_from_the_text(text: str, tag: str) -> None:
    assert f"<{tag}>\n{text}\n</{tag}>" == fence("hp", text)


def test_a_fence_can_always_be_sent() -> None:
    assert "<hp>\n\ufffd😀\n</hp>" == fence("hp", "\ud800\ud83d\ude00")
