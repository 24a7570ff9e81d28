"""The order of the candidates gives nothing away, and the file can tell who was who."""

from __future__ import annotations

from collections import Counter

from talks import parsed, small_file, talk

from attunebench.codebook import default_codebook
from attunebench.protocol.messages import askable_comparisons, reply_labels
from attunebench.protocol.plan import plan_conversation


def test_the_order_is_a_function_of_conversation_and_turn_alone() -> None:
    conversation = talk()
    turn = conversation.turns[0]
    other = turn.model_copy(update={"llm_response": "else", "comparisons": turn.comparisons[::-1]})
    assert reply_labels(conversation, turn) == reply_labels(conversation, other)


def test_each_variant_comes_first_about_equally_often() -> None:
    conversation = talk()
    numbered = (conversation.turns[0].model_copy(update={"number": n}) for n in range(600))
    first = Counter(reply_labels(conversation, turn)["Reply 1"] for turn in numbered)
    assert all(140 < count < 260 for count in first.values())


def test_letters_keep_the_order_of_the_data() -> None:
    comparisons = askable_comparisons(parsed(small_file()).turns[0])
    assert {"0": ("original", "human"), "1": ("alternate", "original")} == {
        i: (c.a, c.b) for i, c in comparisons.items()
    }


def test_the_sides_shown_are_the_variants_of_the_data() -> None:
    conversation = talk(4, 2)
    calls = {c.turn: c for c in plan_conversation(conversation, "default", default_codebook()) if c.kind == "pairwise"}
    for turn in conversation.turns:
        labels = reply_labels(conversation, turn)
        shown = calls[turn.number].messages[1].content
        for label, variant in labels.items():
            assert f"{label}\n<reply>\n{turn.variants[variant]}\n</reply>" in shown
        for index, (a, b) in calls[turn.number].asked.comparisons.items():
            comparison = turn.comparisons[int(index)]
            assert (comparison.a, comparison.b) == (labels[a], labels[b])
            assert f"\n{index}: A = {a}, B = {b}" in shown
