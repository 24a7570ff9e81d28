"""Which model is taken, what is remembered of it, and the sentence where there is none or a broken one."""

from __future__ import annotations

import json
import shutil

import pytest
from tiny_models import tiny_bert

from attunebench.errors import DataError, UsageError
from attunebench.scorer.encoder import BertScoreSettings, load_encoder

WHY = "BERTScore needs torch and transformers, the extra `bertscore`"
pytest.importorskip("torch", reason=WHY)
pytest.importorskip("transformers", reason=WHY)


def facts(folder, layer=2):
    return load_encoder(BertScoreSettings(str(folder), layer=layer)).facts


def copied(bert, target):
    shutil.copytree(bert, target)
    return target


def test_what_is_remembered_tells_models_apart_and_no_path(bert, tmp_path):
    found = facts(bert)
    assert {"model": "bert", "from": "folder", "layer": 2, "rescaled": False, "idf": False, "max_tokens": 64} == {
        key: found[key] for key in ("model", "from", "layer", "rescaled", "idf", "max_tokens")
    }
    assert str(bert.parent) not in json.dumps(found)
    assert found["sha256"] == facts(copied(bert, tmp_path / "copy"))["sha256"]
    assert found["sha256"] != facts(tiny_bert(tmp_path / "other", seed=1))["sha256"]
    assert found["sha256"] != facts(bert, layer=1)["sha256"]


def test_a_folder_that_is_called_as_a_known_model_gets_its_published_layer(bert, tmp_path):
    with pytest.raises(UsageError, match="has the layers 1 to 3; there is no layer 9"):
        load_encoder(BertScoreSettings(str(copied(bert, tmp_path / "bert-base-uncased"))))


def test_an_unknown_model_wants_its_layer_named(bert):
    with pytest.raises(UsageError, match=r"name one of its 3 with --bertscore-layer"):
        load_encoder(BertScoreSettings(str(bert)))


@pytest.mark.parametrize("layer", [0, 4, -1])
def test_a_layer_that_is_not_there_is_refused(bert, layer):
    with pytest.raises(UsageError, match=f"layers 1 to 3; there is no layer {layer}"):
        facts(bert, layer)


@pytest.mark.parametrize("name", ["roberta-large", "somebody/no-such-model", "odd name!"])
def test_a_model_that_is_not_to_be_had_says_how_to_give_a_folder(name):
    with pytest.raises(
        DataError, match=r"is not on this machine and could not be fetched .*--bertscore-model; `hf down"
    ):
        load_encoder(BertScoreSettings(name))


@pytest.mark.parametrize("name", ["/no/such/folder", "./none", "~none/there", "a/b/c"])
def test_a_folder_that_is_not_there_is_not_looked_for_on_the_hub(name):
    with pytest.raises(DataError, match="There is no folder"):
        load_encoder(BertScoreSettings(name))


def without(*names):
    def spoil(folder):
        for name in names:
            (folder / name).unlink()

    return spoil


def cut_short(folder):
    (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:1000])


def torn(folder):
    (folder / "config.json").write_text('{"model_type": ')


def of_no_kind(folder):
    (folder / "config.json").write_text('{"model_type": "no-such-kind"}')


def with_code(folder):
    settings = json.loads((folder / "config.json").read_text())
    settings |= {"model_type": "mine", "auto_map": {"AutoConfig": "mine.Config", "AutoModel": "mine.Model"}}
    (folder / "config.json").write_text(json.dumps(settings))
    (folder / "mine.py").write_text("raise SystemExit('code of a stranger')")


def without_a_layer(folder):
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    kept = {name: tensor for name, tensor in weights.items() if "layer.1." not in name}
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})


def with_more_words(folder):
    from transformers import BertTokenizerFast

    tokenizer = BertTokenizerFast.from_pretrained(folder)
    tokenizer.add_tokens(["another", "word"])
    tokenizer.save_pretrained(folder)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (without("config.json"), "contains no model: config.json is missing"),
        (without("model.safetensors"), "cannot be loaded"),
        (without("tokenizer.json", "tokenizer_config.json", "vocab.txt"), "cannot be loaded"),
        (cut_short, "cannot be loaded"),
        (torn, "cannot be loaded"),
        (of_no_kind, "cannot be loaded"),
        (with_code, "cannot be loaded"),
        (without_a_layer, "lacks 16 of its weights"),
        (with_more_words, "do not match"),
    ],
)
def test_a_broken_folder_gets_one_sentence(bert, tmp_path, spoil, said):
    folder = copied(bert, tmp_path / "broken")
    spoil(folder)
    with pytest.raises(DataError, match=said) as refusal:
        facts(folder)
    assert "\n" not in str(refusal.value)


def test_weights_that_are_no_numbers_are_refused_and_not_scored(bert, tmp_path):
    from safetensors.torch import load_file, save_file

    folder = copied(bert, tmp_path / "nan")
    weights = load_file(folder / "model.safetensors")
    weights["embeddings.word_embeddings.weight"][:] = float("nan")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    encoder = load_encoder(BertScoreSettings(str(folder), layer=2))
    with pytest.raises(DataError, match="returns no numbers"):
        encoder.encode(["flat"])


def test_a_device_that_is_not_there_is_refused(bert):
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has a CUDA device")
    with pytest.raises(UsageError, match="no CUDA device"):
        load_encoder(BertScoreSettings(str(bert), 2, "cuda"))


def test_the_libraries_are_as_talkative_afterwards_as_before(bert):
    from huggingface_hub.utils import logging as hub
    from transformers.utils import logging as library

    before = (library.get_verbosity(), library.is_progress_bar_enabled(), hub.get_verbosity())
    facts(bert)
    assert before == (library.get_verbosity(), library.is_progress_bar_enabled(), hub.get_verbosity())
