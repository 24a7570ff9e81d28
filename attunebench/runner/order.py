"""The order of a run: seeded and stratified, so that wherever it stops, what is done is a fair sample of the whole.

Each stratum (topic category × groups of diagnoses) is shuffled, and its i-th of n conversations gets the place
(i + u) / n with u drawn between 0 and 1. So every conversation is equally likely to be in a beginning of a given
length, and each stratum is there in proportion. Depends on the seed, the conversations' IDs and their strata, and on
nothing else: not on file names or on the order of loading. A set that changes keeps the order of the strata that did
not.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence

from attunebench.conversations.groups import named_groups
from attunebench.conversations.schema import Conversation

Stratum = tuple[str, tuple[str, ...]]
"""(topic category in lower case, groups of diagnoses in alphabetical order); "" and () where nothing is told."""


def stratified_order(conversations: Sequence[Conversation], seed: int) -> list[Conversation]:
    """The conversations in the order in which a run takes them."""
    strata: dict[Stratum, list[Conversation]] = defaultdict(list)
    for conversation in sorted(conversations, key=lambda c: c.conversation_id):
        strata[stratum_of(conversation)].append(conversation)
    placed = []
    for stratum, members in strata.items():
        # One generator for each stratum: a string seeds it the same on every machine and in every process.
        rng = random.Random(f"{seed}/{stratum}")
        rng.shuffle(members)
        placed += [((i + rng.random()) / len(members), c.conversation_id, c) for i, c in enumerate(members)]
    return [conversation for _, _, conversation in sorted(placed, key=lambda item: item[:2])]


def stratum_of(conversation: Conversation) -> Stratum:
    """Whom and what a conversation is counted under."""
    category = conversation.metadata.get("category")
    topics = category if isinstance(category, Sequence) and not isinstance(category, str) else (category,)
    topic = " + ".join(sorted({topic.strip().casefold() for topic in topics if isinstance(topic, str)}))
    told = conversation.profile.demographics.diagnoses if conversation.profile else ()
    return topic, named_groups(told)


def order_words(chosen: int, of: int, seed: int, part: str = "") -> str:
    """What a run takes in which order, in words. `part` says what part of that it takes where it is not all."""
    order = f"stratified by topic and diagnosis, seed {seed}"
    which = "all" if chosen == of else f"the first {chosen} of {of}"
    return f"{part + ' ' if part else ''}{which} in an order {order}"


def sample_words(done: int, of: int, seed: int) -> str:
    """What part of the set is done, in words."""
    return f"{done} of {of} conversations, a random sample stratified by topic and diagnosis (seed {seed})"
