"""Models that are made here; nothing is fetched. Without torch and transformers these tests are skipped, and say so."""

from __future__ import annotations

import os

import pytest

# The hub's client reads it when it is first imported; without it an unknown name is looked for on the network.
os.environ["HF_HUB_OFFLINE"] = "1"


@pytest.fixture(scope="session")
def bert(tmp_path_factory):
    """The folder of a tiny BERT."""
    from tiny_models import tiny_bert

    return tiny_bert(tmp_path_factory.mktemp("models") / "bert")


@pytest.fixture(scope="session")
def roberta(tmp_path_factory):
    """The folder of a tiny RoBERTa."""
    from tiny_models import tiny_roberta

    return tiny_roberta(tmp_path_factory.mktemp("models") / "roberta")
