"""What the talks are about and with which model: topics, subtopics, attitude to the topic, original models."""

from __future__ import annotations

from collections.abc import Iterable

from attunebench.analyses.common import counted
from attunebench.analyses.model import Analysis, Table
from attunebench.conversations import Conversation
from attunebench.datasets.describing.tables import Data, facet, facet_table, fold


def describe(data: Data) -> Analysis:
    """Topics with their subtopics, attitudes, and the models that people talked with."""
    topics = facet(data, "Topic", topics_of, single=False)
    attitudes = facet(data, "Attitude", _attitude, single=False)
    models = facet(data, "Original model", lambda c: _text(c.metadata.get("model")), single=False)
    shares = "Shares of the conversations that tell."
    topic_table = facet_table("topics", "Topics", [topics], data, of="conversations", caption=shares)
    return Analysis(
        "topics",
        "Topics and models",
        "What are the conversations about, and with whom?",
        shows=f"{counted(len(topics.values), 'topic')}, {counted(len(models.values), 'original model')}.",
        tables=(
            topic_table,
            _subtopics(data, topic_table),
            facet_table("attitudes", "Attitude to the topic", [attitudes], data, of="conversations", caption=shares),
            facet_table("models", "Original models", [models], data, of="conversations", caption=shares),
        ),
    )


def topics_of(conversation: Conversation) -> tuple[str, ...]:
    """The topics of a conversation: the file's category, a text or a list of them."""
    category = conversation.metadata.get("category")
    given = category if isinstance(category, (list, tuple)) else (category,)
    return tuple(topic for one in given for topic in _text(one))


def _subtopics(data: Data, topics: Table) -> Table:
    """Subtopics within each topic that is shown: those of a masked one would add up to it."""
    facets = [
        facet(
            data,
            name,
            lambda c: _text(c.metadata.get("subtopic")),
            single=False,
            among=lambda c, name=name: fold(name) in map(fold, topics_of(c)),  # type: ignore[misc]
        )
        for name in (str(row[0].value) for row in topics.rows)
    ]
    return facet_table(
        "subtopics",
        "Subtopics by topic",
        facets,
        data,
        of="conversations",
        caption="Shares of the conversations of a topic that tell a subtopic.",
    )


def _attitude(conversation: Conversation) -> Iterable[str]:
    profile = conversation.profile
    return _text(profile.conversation_topic_attitude) if profile is not None else ()


def _text(value: object) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) and value.strip() else ()
