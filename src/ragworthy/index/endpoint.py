"""Vectors from an HTTP endpoint that speaks the OpenAI protocol: POST {URL}/embeddings."""

import hashlib
import time
from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from ragworthy.errors import DataError, data_error, usage_error
from ragworthy.index.ranking import Doubles, Floats, unit_rows
from ragworthy.threaded import threaded
from ragworthy.wire.address import parsed
from ragworthy.wire.client import Answer, Broken, Client
from ragworthy.wire.secret import key_in

KEY = "RAGWORTHY_EMBED_KEY"
BATCH = 64
TRIES = 4
TIMEOUT = 120.0
"""So many seconds one request may take, to the last byte of its answer."""
MOST_BYTES = 1 << 20
"""So many bytes an answer may have for each text: a vector of 16,000 numbers as JSON has a third of that."""
_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
"""Answers that may be better a moment later."""


class _Item(msgspec.Struct, frozen=True):
    embedding: msgspec.Raw
    """Read one by one: a body of 64 MiB that is one list of zeros would take more than a gigabyte."""
    index: int | None = None


@threaded
class _Reply(msgspec.Struct, frozen=True):
    data: list[_Item]


class Endpoint:
    """A model behind an address; its weights cannot be seen, so address and name stand for them."""

    def __init__(
        self, model: str, url: str, *, timeout: float = TIMEOUT, wait: Callable[[float], object] = time.sleep
    ) -> None:
        self._url = url.rstrip("/")
        purpose = "an embedding endpoint"
        try:
            address = parsed(f"{self._url}/embeddings")
            if address.authorization is not None:
                raise usage_error(f"expected an address without a password, got one: give the key in {KEY}")
            if not address.is_plain:
                raise ValueError("got one with a query or a fragment")
            self._client = Client(address, purpose, most_bytes=BATCH * MOST_BYTES, key=key_in(KEY))
        except ValueError as error:
            raise usage_error(f"expected an address such as http://localhost:8080/v1, {error}") from None
        self._model = model
        self._timeout = timeout
        self._wait = wait
        self._dimension: int | None = None
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
        read = [self._vector(place, item) for place, item in enumerate(reply.data)]
        vectors = [read[order.index(row)] for row in range(len(texts))]
        length = self._dimension or len(vectors[0])
        for vector in vectors:
            if len(vector) != length or not len(vector):
                raise self._error(f"expected vectors of dimension {length or 'at least 1'}, got {len(vector)}")
        wide = np.stack(vectors)
        if not (np.abs(wide) <= np.finfo(np.float32).max).all():
            raise self._error("expected finite numbers, got NaN or infinity")
        self._dimension = length
        return wide.astype(np.float32)

    def _ask(self, texts: list[str]) -> _Reply:
        """One request, tried again a few times where the failure may pass."""
        body = msgspec.json.encode({"model": self._model, "input": texts, "encoding_format": "float"})
        problem = ""
        for attempt in range(TRIES):
            if attempt:
                self._wait(0.5 * 2 ** (attempt - 1))
            try:
                answer = self._client.post_and_wait(body, self._timeout)
            except Broken as broken:
                if broken.kind not in ("unreachable", "broke"):
                    raise self._error(f"expected vectors, got {broken}") from None
                problem = str(broken)
                continue
            if answer.status == 200:
                return self._decoded(answer)
            problem = str(answer)
            if answer.status not in _PASSING:
                raise self._error(f"expected status 200, got {problem}")
        raise self._error(f"expected vectors, got after {TRIES} attempts {problem}")

    def _decoded(self, answer: Answer) -> _Reply:
        try:
            return msgspec.json.decode(answer.body, type=_Reply)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise self._error(f"expected a list of vectors under data, got: {error}") from None

    def _vector(self, place: int, item: _Item) -> Doubles:
        where = f"data[{place}].embedding"
        if len(bytes(item.embedding)) > MOST_BYTES:
            raise self._error(f"expected at most {MOST_BYTES:,} bytes at {where}, got more")
        try:
            return np.asarray(msgspec.json.decode(item.embedding, type=list[float]), dtype=np.float64)
        except msgspec.MsgspecError as error:
            reason = str(error).replace("`$", f"`$.{where}")
            raise self._error(f"expected a list of vectors under data, got: {reason}") from None

    def _error(self, message: str) -> DataError:
        return data_error("RW-I08", message, where=f"{self._url}/embeddings")
