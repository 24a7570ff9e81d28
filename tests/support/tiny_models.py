"""Language models small enough to be made in a test: random weights, the letters as vocabulary. Needs torch."""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import Any

LAYERS, LIMIT = 3, 64
WORDS = ["the", "you", "i", "and", "sister", "flat", "hear", "sorry", "hard", "."]


def tiny_bert(folder: Path, seed: int = 0) -> Path:
    """A BERT that reads 64 tokens, saved into the folder."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder.mkdir(parents=True, exist_ok=True)
    letters = [*string.ascii_lowercase, *(f"##{letter}" for letter in string.ascii_lowercase)]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *WORDS]
    (folder / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=LIMIT).save_pretrained(folder)
    torch.manual_seed(seed)
    config = BertConfig(vocab_size=len(vocabulary), max_position_embeddings=LIMIT, **_size())
    BertModel(config).save_pretrained(folder)
    return folder


def tiny_roberta(folder: Path) -> Path:
    """A RoBERTa over bytes, which tells "the" from " the", and whose positions begin after that of padding."""
    import torch
    from transformers import RobertaConfig, RobertaModel, RobertaTokenizerFast

    folder.mkdir(parents=True, exist_ok=True)
    bytes_ = [*map(chr, range(33, 127)), *map(chr, range(161, 173)), *map(chr, range(174, 256))]
    bytes_ += [chr(256 + place) for place in range(256 - len(bytes_))]
    merges = [("t", "h"), ("th", "e"), ("Ġ", "the")]
    tokens = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *bytes_, *("".join(pair) for pair in merges)]
    vocabulary = {token: place for place, token in enumerate(tokens)}
    (folder / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    lines = ["#version: 0.2", *(" ".join(pair) for pair in merges)]
    (folder / "merges.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    files = (str(folder / "vocab.json"), str(folder / "merges.txt"))
    RobertaTokenizerFast(*files, model_max_length=10**9).save_pretrained(folder)
    torch.manual_seed(1)
    config = RobertaConfig(vocab_size=len(tokens), max_position_embeddings=LIMIT + 2, pad_token_id=1, **_size())
    RobertaModel(config).save_pretrained(folder)
    return folder


def _size() -> dict[str, Any]:
    return {"hidden_size": 32, "num_hidden_layers": LAYERS, "num_attention_heads": 2, "intermediate_size": 64}
