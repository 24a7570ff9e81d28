"""The language model behind BERTScore: found, loaded, checked, and asked for the tokens of texts.

The one place that knows torch and transformers, which are imported when a model is loaded and not before. Knows no
draft and no metric.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np

from attunebench.errors import DataError, UsageError
from attunebench.metrics.bertscore import Embedded
from attunebench.text import encodable, printable

Device = Literal["cpu", "cuda"]

DEFAULT_MODEL = "roberta-large"
PUBLISHED_LAYERS = {
    "albert-base-v2": 9, "albert-xxlarge-v2": 8, "bert-base-cased": 9, "bert-base-chinese": 8,
    "bert-base-multilingual-cased": 9, "bert-base-uncased": 9, "bert-large-uncased": 18, "deberta-base-mnli": 9,
    "deberta-large-mnli": 18, "deberta-v3-base": 9, "deberta-v3-large": 12, "deberta-v3-small": 4,
    "deberta-xlarge-mnli": 40, "distilbert-base-multilingual-cased": 5, "distilbert-base-uncased": 5,
    "distilroberta-base": 5, "mdeberta-v3-base": 10, "roberta-base": 10, "roberta-large": 17, "roberta-large-mnli": 19,
    "xlm-roberta-base": 9, "xlm-roberta-large": 17,
}  # fmt: skip
"""Model, without whose it is → the layer that its authors' package for BERTScore takes: the one that agreed best with
human ratings of translations."""

_NOT_STATED = 512
"""How many tokens a model gets that does not say how many it can read."""
_UNBOUNDED = 10**6
_OFFSET = frozenset(("roberta", "xlm-roberta", "camembert", "longformer", "xlm-roberta-xl", "data2vec-text"))
"""Models whose positions begin after that of padding, so that they read fewer tokens than they have positions."""
_SPACED = frozenset(("roberta", "gpt2", "longformer"))
"""Models that tell a word at the beginning of a text from the same word after a space."""
_BATCH_TOKENS = 4096
_BATCH_TEXTS = 64
_REASON = 160


@dataclass(frozen=True, slots=True)
class BertScoreSettings:
    """`model`: a name on the Hugging Face hub, or a folder. `layer`: None for the one that is published for the model.

    Models of other people's code are not taken, and none is fetched that is on this machine already.
    """

    model: str = DEFAULT_MODEL
    layer: int | None = None
    device: Device = "cpu"


@dataclass(slots=True)
class Encoder:
    """A loaded model, cut after its layer. `facts` say which one it is; texts are cut after `facts["max_tokens"]`."""

    facts: dict[str, Any]
    _tokenizer: Any = field(repr=False)
    _model: Any = field(repr=False)
    cut: set[str] = field(default_factory=set, repr=False)
    """The texts of which only the beginning was read."""

    @property
    def max_tokens(self) -> int:
        return int(self.facts["max_tokens"])

    def encode(self, texts: Sequence[str]) -> list[Embedded]:
        """The tokens of each text.

        What a text yields depends on the others in the order of 1e-6, through the width of its batch. DataError where
        the model yields no numbers.
        """
        with _quiet():
            tokenised = [self._tokens(text) for text in texts]
        found: dict[int, Embedded] = {}
        for batch in _batches([len(ids) for ids, _ in tokenised]):
            hidden = self._hidden([tokenised[place][0] for place in batch])
            for row, place in enumerate(batch):
                ids, own = tokenised[place]
                found[place] = Embedded(_unit(hidden[row, : len(ids)]), own)
        return [found[place] for place in range(len(texts))]

    def _tokens(self, text: str) -> tuple[list[int], Any]:
        given = self._tokenizer(encodable(text).strip(), return_special_tokens_mask=True)
        if len(given["input_ids"]) > self.max_tokens:
            self.cut.add(text)
            given = self._tokenizer(
                encodable(text).strip(),
                return_special_tokens_mask=True,
                truncation=True,
                max_length=self.max_tokens,
            )
        return given["input_ids"], np.array(given["special_tokens_mask"]) == 0

    def _hidden(self, batch: Sequence[Sequence[int]]) -> Any:
        """(texts, tokens, size) as float32; what stands behind a text's own length is padding."""
        torch, device = import_module("torch"), self.facts["device"]
        rows = [torch.tensor(ids, device=device) for ids in batch]
        pad = torch.nn.utils.rnn.pad_sequence
        ids = pad(rows, batch_first=True, padding_value=self._tokenizer.pad_token_id or 0)
        seen = pad([torch.ones_like(row) for row in rows], batch_first=True)
        try:
            with torch.inference_mode():
                return self._model(input_ids=ids, attention_mask=seen).last_hidden_state.float().cpu().numpy()
        except RuntimeError as error:  # out of memory is one, on every device
            raise DataError(
                f"{printable(str(self.facts['model']))} failed to read {len(batch)} texts for BERTScore "
                f"({_reason(error)}); use a smaller model or another --bertscore-device."
            ) from error


def require_libraries() -> None:
    """UsageError that says what to install where torch or transformers is not there."""
    absent = [name for name in ("torch", "transformers") if find_spec(name) is None]
    if absent:
        raise UsageError(
            f"BERTScore needs {' and '.join(absent)}, which this Python does not have: "
            'pip install ".[bertscore]" in the checkout of attunebench.'
        )


def load_encoder(settings: BertScoreSettings) -> Encoder:
    """The model of these settings, cut after its layer.

    UsageError: torch or transformers, the device, the layer or the choice of a layer is missing. DataError: there is no
    such model to be had, or it is broken.
    """
    require_libraries()
    torch, transformers = import_module("torch"), import_module("transformers")
    if settings.device not in ("cpu", "cuda"):
        raise UsageError(f"There is no device {settings.device!r} for BERTScore; there are cpu and cuda.")
    if settings.device == "cuda" and not torch.cuda.is_available():
        raise UsageError("torch finds no CUDA device on this machine; leave --bertscore-device out to use the CPU.")
    local = _is_folder(settings.model)
    with _quiet():
        config, tokenizer = _found(settings.model, local, _config_and_tokenizer)
        layer = _layer(settings, int(getattr(config, "num_hidden_layers", 0) or 0))
        config.num_hidden_layers = layer  # what stands above is not even read
        model = _found(settings.model, local, lambda **options: _weights(config=config, **options))
    model = model.get_encoder() if getattr(config, "is_encoder_decoder", False) else model
    if len(tokenizer) > model.get_input_embeddings().num_embeddings:
        raise DataError(
            f"The tokenizer of {printable(settings.model)} knows more tokens than the model, so they do not match; use "
            "another model for BERTScore."
        )
    model = model.float().eval().to(settings.device)
    facts = {
        "model": Path(settings.model).resolve().name if local else settings.model,
        "from": "folder" if local else "hub",
        "revision": None if local else getattr(model.config, "_commit_hash", None),
        "sha256": _digest(model, tokenizer),
        "layer": layer,
        "idf": False,
        "rescaled": False,
        "max_tokens": _limit(tokenizer, config),
        "device": settings.device,
        "torch": str(torch.__version__),
        "transformers": str(transformers.__version__),
    }
    return Encoder(facts, tokenizer, model)


_HOW_TO_SAVE = "`hf download {} --local-dir FOLDER` creates one on a machine with a network."


def _is_folder(model: str) -> bool:
    """Whether the model is in a folder, and not a name on the hub."""
    path, how = Path(model), _HOW_TO_SAVE.format(DEFAULT_MODEL)
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise DataError(f"{printable(model)} contains no model: config.json is missing. {how}")
        return True
    if path.exists() or model.startswith((".", "/", "~", "\\")) or model.count("/") > 1 or "\\" in model:
        raise DataError(f"There is no folder {printable(model)} with a model for BERTScore. {how}")
    return False


def _layer(settings: BertScoreSettings, available: int) -> int:
    name = settings.model.rstrip("/").replace("\\", "/").rsplit("/", 1)[-1]
    layer = PUBLISHED_LAYERS.get(name) if settings.layer is None else settings.layer
    if layer is None:
        raise UsageError(
            f"No published layer is known for {printable(settings.model)}; name one of its {available} with "
            "--bertscore-layer (usually about two thirds of the way up)."
        )
    if not 1 <= layer <= available:
        raise UsageError(f"{printable(settings.model)} has the layers 1 to {available}; there is no layer {layer}.")
    return layer


def _found(model: str, local: bool, take: Callable[..., Any]) -> Any:
    """What `take` takes: from the folder, from what this machine has of the hub, or from the hub."""
    try:
        try:
            return take(name=model, local_files_only=True)
        except OSError:
            if local:
                raise
            return take(name=model, local_files_only=False)
    except DataError:
        raise
    except Exception as error:  # every kind of broken file has an exception of its own, down to those of Rust
        name, reason = printable(model), _reason(error)
        raise DataError(
            f"The model in {name} cannot be loaded ({reason}); name another folder. "
            f"{_HOW_TO_SAVE.format(DEFAULT_MODEL)}"
            if local
            else f"The model {name} is not on this machine and could not be fetched ({reason}). Give a folder that "
            f"holds it with --bertscore-model; {_HOW_TO_SAVE.format(shlex.quote(name))}"
        ) from error


def _reason(error: Exception) -> str:
    return printable(str(error).strip().split("\n")[0], _REASON).rstrip(".") or type(error).__name__


def _config_and_tokenizer(name: str, **options: Any) -> tuple[Any, Any]:
    transformers = import_module("transformers")
    # Without the explicit False, code of the model's own would be asked for on the terminal.
    config = transformers.AutoConfig.from_pretrained(name, trust_remote_code=False, **options)
    if getattr(config, "model_type", None) in _SPACED:
        options["add_prefix_space"] = True
    # A draft that spells "[SEP]" has not thereby ended.
    options["split_special_tokens"] = True
    tokenizer = transformers.AutoTokenizer.from_pretrained(name, trust_remote_code=False, **options)
    # Where its files are missing, a tokenizer may come all the same, and know no word.
    if 2 * len(tokenizer) < (getattr(config, "vocab_size", 0) or 0):
        raise OSError(f"its tokenizer knows {len(tokenizer)} of {config.vocab_size} tokens")
    return config, tokenizer


def _weights(name: str, config: Any, **options: Any) -> Any:
    model, report = import_module("transformers").AutoModel.from_pretrained(
        name, config=config, trust_remote_code=False, output_loading_info=True, **options
    )
    # What a file lacks is filled with chance. A pooler is not used here, and many models come without.
    absent = sorted(key for key in report["missing_keys"] if "pooler" not in key)
    if absent:
        raise DataError(
            f"The model {printable(name)} lacks {len(absent)} of its weights ({printable(absent[0])} first), so its "
            "scores would be random; use another folder or save it again."
        )
    return model


def _limit(tokenizer: Any, config: Any) -> int:
    """How many tokens the model reads, those around the text among them."""
    positions = getattr(config, "max_position_embeddings", None)
    if isinstance(positions, int) and positions > 0 and config.model_type in _OFFSET:
        positions -= (config.pad_token_id or 0) + 1
    stated = (tokenizer.model_max_length, positions)
    return min((n for n in stated if isinstance(n, int) and 0 < n < _UNBOUNDED), default=_NOT_STATED)


def _digest(model: Any, tokenizer: Any) -> str:
    """Of the weights up to the layer and of the vocabulary: the same from the hub and from a folder."""
    digest = hashlib.sha256(json.dumps(sorted(tokenizer.get_vocab().items())).encode())
    for name, weights in sorted(model.state_dict().items()):
        if "pooler" not in name:
            digest.update(name.encode())
            digest.update(weights.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """The places of texts in batches of similar length; the longest come first, so that memory fails early."""
    places = sorted(range(len(lengths)), key=lambda place: -lengths[place])
    while places:
        size = max(1, min(_BATCH_TEXTS, _BATCH_TOKENS // max(1, lengths[places[0]])))
        yield places[:size]
        places = places[size:]


def _unit(vectors: Any) -> Any:
    """The vectors at length 1, as float32."""
    if not np.isfinite(vectors).all():
        raise DataError("The model for BERTScore returns no numbers: its weights are damaged; use another one.")
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), np.finfo(np.float32).tiny)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what the libraries say of their own doings; errors come as exceptions."""
    library, hub = import_module("transformers.utils.logging"), import_module("huggingface_hub.utils.logging")
    before, bars, hub_before = library.get_verbosity(), library.is_progress_bar_enabled(), hub.get_verbosity()
    library.set_verbosity(library.CRITICAL)
    library.disable_progress_bar()
    hub.set_verbosity(hub.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        library.set_verbosity(before)
        hub.set_verbosity(hub_before)
        if bars:
            library.enable_progress_bar()
