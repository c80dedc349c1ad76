"""Vectors from an HTTP endpoint that speaks the OpenAI protocol: POST {URL}/embeddings."""

import hashlib
import os
import time
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec
import numpy as np

from ragworthy.errors import DataError, data_error, usage_error
from ragworthy.index.embed import unit_rows
from ragworthy.index.extra import need
from ragworthy.index.ranking import Floats
from ragworthy.text import clip

KEY = "RAGWORTHY_EMBED_KEY"
BATCH = 64
TRIES = 4
TIMEOUT = 60.0
_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
"""Answers that may be better a moment later."""


class _Item(msgspec.Struct, frozen=True):
    embedding: list[float]
    index: int | None = None


class _Reply(msgspec.Struct, frozen=True):
    data: list[_Item]


class Endpoint:
    """A model behind an address; its weights cannot be seen, so address and name stand for them."""

    def __init__(
        self, model: str, url: str, *, timeout: float = TIMEOUT, wait: Callable[[float], object] = time.sleep
    ) -> None:
        parts = urlsplit(url)
        if parts.username or parts.password:
            raise usage_error(f"expected an address without a password, got one: give the key in {KEY}")
        if not parts.hostname or parts.query or parts.fragment:
            raise usage_error(f'expected an address such as http://localhost:8080/v1, got "{url}"')
        self._model = model
        self._url = url.rstrip("/")
        self._timeout = timeout
        self._wait = wait
        self._dimension: int | None = None
        self._http = need("httpx", "httpx", "http", "an embedding endpoint")
        self.name = f"openai:{model}@{self._url}"
        self.weights = hashlib.sha256(f"{self._url}\n{model}".encode()).hexdigest()

    @property
    def dimension(self) -> int:
        """How long its vectors are; asks the endpoint once when nothing was embedded yet."""
        if self._dimension is None:
            self._batch(["dimension"])
        assert self._dimension is not None  # noqa: S101 - set by every batch
        return self._dimension

    def embed(self, texts: Sequence[str]) -> Floats:
        """One unit row for each text; zeros for a blank text, which is not sent."""
        filled = [row for row, text in enumerate(texts) if text.strip()]
        parts = [filled[start : start + BATCH] for start in range(0, len(filled), BATCH)]
        found = [(part, self._batch([texts[row] for row in part])) for part in parts]
        rows: Floats = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for part, vectors in found:
            rows[part] = vectors
        return unit_rows(rows)

    def _batch(self, texts: list[str]) -> Floats:
        reply = self._ask(texts)
        if len(reply.data) != len(texts):
            raise self._error(f"expected {len(texts)} vectors, got {len(reply.data)}")
        order = [place if item.index is None else item.index for place, item in enumerate(reply.data)]
        if sorted(order) != list(range(len(texts))):
            raise self._error("expected every index once, got repeated or missing ones")
        vectors = [item.embedding for _, item in sorted(zip(order, reply.data, strict=True), key=lambda pair: pair[0])]
        length = self._dimension or len(vectors[0])
        for vector in vectors:
            if len(vector) != length or not vector:
                raise self._error(f"expected vectors of dimension {length or 'at least 1'}, got {len(vector)}")
        wide = np.asarray(vectors, dtype=np.float64)
        if not (np.abs(wide) <= np.finfo(np.float32).max).all():
            raise self._error("expected finite numbers, got NaN or infinity")
        self._dimension = length
        return wide.astype(np.float32)

    def _ask(self, texts: list[str]) -> _Reply:
        """One request, tried again a few times where the failure may pass."""
        problem = ""
        for attempt in range(TRIES):
            if attempt:
                self._wait(0.5 * 2 ** (attempt - 1))
            try:
                answer = self._post(texts)
            except self._http.TransportError as error:
                problem = f"{type(error).__name__}: {clip(str(error), 120)}"
                continue
            if answer.status_code == 200:
                return self._decoded(answer.content)
            problem = f"status {answer.status_code}: {clip(answer.text, 120)}"
            if answer.status_code not in _PASSING:
                raise self._error(f"expected status 200, got {problem}")
        raise self._error(f"expected vectors, got after {TRIES} attempts {problem}")

    def _post(self, texts: list[str]) -> Any:
        key = os.environ.get(KEY)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        body = {"model": self._model, "input": texts, "encoding_format": "float"}
        return self._http.post(f"{self._url}/embeddings", json=body, headers=headers, timeout=self._timeout)

    def _decoded(self, content: bytes) -> _Reply:
        try:
            return msgspec.json.decode(content, type=_Reply)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise self._error(f"expected a list of vectors under data, got: {error}") from None

    def _error(self, message: str) -> DataError:
        return data_error("RW-I08", message, where=f"{self._url}/embeddings")
