"""The self-test recognises the end of a command by words that the command prints."""

from __future__ import annotations

from attunebench.backends.faults import RULES
from attunebench.selftest.plans import ENDS


def test_an_empty_account_is_reported_in_the_words_that_the_self_test_expects() -> None:
    (sentence,) = (rule.sentence for rule in RULES if rule.name == "money")
    assert ENDS["no money"].words in sentence
