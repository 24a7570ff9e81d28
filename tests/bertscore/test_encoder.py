"""What comes out of a language model: against a plain computation from its hidden states, for texts of every kind."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tiny_models import LIMIT

from attunebench.metrics.bertscore import bertscore
from attunebench.scorer.encoder import BertScoreSettings, load_encoder

WHY = "BERTScore needs torch and transformers, the extra `bertscore`"
pytest.importorskip("torch", reason=WHY)
pytest.importorskip("transformers", reason=WHY)

TEXTS = [
    "I hear you, and that sounds hard.",
    "Sorry.",
    "the sister and the flat",
    "You could ring your sister, and tell her of the flat.",
]
ODD = [
    "",
    "  \n",
    "😀",
    "👩‍👩‍👧 flat",
    "\u202eשלום, עולם",
    "مرحبا",
    "\x00",
    "\ud800",
    "[SEP]",
    "a" * 100_000,
    "flat " * 20_000,
]
NOISE = 1e-5
"""What the width of a batch may do to a number, and more."""


@pytest.fixture(scope="module")
def encoder(bert):
    return load_encoder(BertScoreSettings(str(bert), layer=2))


def tokens_of(folder, text, layer):
    """(is the text's own, vector) of each token, from all layers of the whole model, one text at a time."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    ids = tokenizer(text)["input_ids"]
    with torch.no_grad():
        states = model(torch.tensor([ids]), output_hidden_states=True).hidden_states
    special = {tokenizer.cls_token_id, tokenizer.sep_token_id}
    return [(token not in special, vector) for token, vector in zip(ids, states[layer][0].tolist(), strict=True)]


def cosine(one, other):
    return sum(map(float.__mul__, one, other)) / math.sqrt(sum(x * x for x in one) * sum(x * x for x in other))


def plain_f1(candidate, reference):
    """Greedy matching token by token, as the paper writes it."""

    def part(asked, offered):
        best = [max(cosine(vector, other) for _, other in offered) for own, vector in asked if own]
        return sum(best) / len(best)

    precision, recall = part(candidate, reference), part(reference, candidate)
    return 2 * precision * recall / (precision + recall)


@pytest.mark.parametrize("layer", [1, 2, 3])
@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_f1_is_that_of_the_plain_computation(request, family, layer):
    folder = request.getfixturevalue(family)
    texts = TEXTS if family == "bert" else [f" {text}" for text in TEXTS]
    plain = [tokens_of(folder, text, layer) for text in texts]
    found = load_encoder(BertScoreSettings(str(folder), layer=layer)).encode(TEXTS)
    expected = [plain_f1(one, other) for one in plain for other in plain]
    assert pytest.approx(expected, abs=NOISE) == [bertscore(one, other) for one in found for other in found]
    assert min(expected) < 0.99  # else a test of nothing


def test_a_text_equals_itself_and_the_order_of_two_does_not_matter(encoder):
    found = encoder.encode([*TEXTS, *ODD])
    for one in found:
        assert 1.0 == bertscore(one, one)
        for other in found:
            assert 0.0 <= bertscore(one, other) <= 1.0
            assert pytest.approx(bertscore(other, one), abs=NOISE) == bertscore(one, other)


def test_nothing_is_far_from_something(encoder):
    empty, blank, text = encoder.encode(["", " \n ", "flat"])
    assert 1.0 == bertscore(empty, blank)
    assert 0.0 == bertscore(empty, text)


def test_the_company_of_a_text_does_not_change_what_it_yields(encoder):
    alone = [encoder.encode([text])[0] for text in TEXTS]
    among = encoder.encode([*ODD, *TEXTS])[len(ODD) :]
    for one, other in zip(alone, among, strict=True):
        assert np.abs(one.vectors - other.vectors).max() < NOISE
        assert one.own.tolist() == other.own.tolist()


def test_a_long_text_is_read_up_to_the_limit_and_counted(bert):
    encoder = load_encoder(BertScoreSettings(str(bert), layer=2))
    beginning = " ".join(["flat"] * (LIMIT - 2))
    long, short = encoder.encode([f"{beginning} and sorry", beginning])
    assert LIMIT == len(long.own)
    assert np.abs(long.vectors - short.vectors).max() < NOISE
    assert {f"{beginning} and sorry"} == encoder.cut


def test_positions_that_padding_takes_are_no_room_for_text(roberta):
    encoder = load_encoder(BertScoreSettings(str(roberta), layer=1))
    assert LIMIT == encoder.max_tokens
    assert LIMIT == len(encoder.encode(["flat " * 1000])[0].own)


def test_the_first_word_is_the_word_that_it_is_elsewhere(roberta):
    from transformers import AutoTokenizer

    encoder = load_encoder(BertScoreSettings(str(roberta), layer=1))
    assert 3 == len(encoder.encode(["the"])[0].own)
    assert ["Ġthe"] == AutoTokenizer.from_pretrained(roberta).tokenize(" the")
    assert len(encoder.encode(["the the"])[0].own) == 4


def test_a_text_that_spells_the_end_has_not_ended(encoder):
    spelt, ended = encoder.encode(["flat [SEP]", "flat"])
    assert len(spelt.own) > len(ended.own) + 1
    assert [False, True, False] == ended.own.tolist()
    assert spelt.own[1:-1].all()
