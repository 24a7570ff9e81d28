"""The generator that all tests share keeps its promises, and the package finds its demonstration."""

from __future__ import annotations

from factory import make_conversation

from attunebench.conversations import demo_folder


def test_the_same_seed_gives_the_same_conversation() -> None:
    assert make_conversation(4) == make_conversation(4)


def test_all_texts_differ_within_and_between_conversations() -> None:
    texts = [
        text
        for seed in range(20)
        for turn in make_conversation(seed)["turns"]
        for text in (turn["userMessage"], turn["llmResponse"], *turn["annotations"]["alternateResponses"].values())
    ]
    assert len(texts) == len(set(texts))
    assert all(len(text.split()) > 20 for text in texts)


def test_neighbouring_seeds_share_a_participant_and_no_id() -> None:
    first, second, third = (make_conversation(seed) for seed in (0, 1, 2))
    assert first["participant_profile"] == second["participant_profile"] != third["participant_profile"]
    assert first["conversationId"] != second["conversationId"]


def test_the_demonstration_folder_is_there() -> None:
    assert demo_folder().is_dir()
