"""Requests that are sent again, within a time, after failures that may pass: no connection, a dropped one, 429 and 5xx.

What came back is never judged here: a wrong answer is not asked for again.
"""

import asyncio
import hashlib
import re
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from ragworthy.wire.client import Answer, Broken, Client

_BACKOFF = 0.2
_LONGEST = 10.0
"""So many seconds lie between two tries at most, unless the server asks for more."""


class Sent(NamedTuple):
    """What came of a request in the end."""

    got: Answer | Broken
    times: int
    """How often it was sent."""


def may_pass(got: Answer | Broken) -> bool:
    """Whether the same request may go better a moment later."""
    if isinstance(got, Broken):
        return got.kind in ("unreachable", "broke")
    return got.status == 429 or got.status >= 500


async def sent(
    client: Client,
    body: bytes,
    timeout: float,
    *,
    retries: int,
    name: str,
    url: str | None = None,
    passing: Callable[[Answer | Broken], bool] = may_pass,
    patient: Callable[[Answer | Broken], bool] = lambda _: False,
) -> Sent:
    """Post a request, again where that may help, up to `retries` times and all within so many seconds.

    `name` spreads the waits of several requests, `url` is where it goes if not to the address of the client; what
    `patient` holds for is tried until the time is up.
    """
    end = time.monotonic() + timeout
    times = 0
    while True:
        times += 1
        got: Answer | Broken
        try:
            got = await client.post(body, end - time.monotonic(), url)
        except Broken as broken:
            got = broken
        asked = _retry_after(got.headers) if isinstance(got, Answer) else 0.0
        wait = max(asked, backoff(name, times))
        again = passing(got) and (times <= retries or (retries > 0 and patient(got)))
        if not again or time.monotonic() + wait >= end:
            return Sent(got, times)
        await asyncio.sleep(wait)


def backoff(name: str, attempt: int) -> float:
    """Seconds before the next try: doubled each time up to a limit, and up to half as much more, by the name.

    >>> 0.2 <= backoff("A1", 1) <= 0.3, 0.8 <= backoff("A1", 3) <= 1.2, 10.0 <= backoff("A1", 99) <= 15.0
    (True, True, True)
    """
    digest = hashlib.sha256(f"{name}:{attempt}".encode()).digest()
    share = int.from_bytes(digest[:4], "big") / (1 << 32)
    return min(_LONGEST, _BACKOFF * 2.0 ** min(attempt - 1, 30)) * (1 + share / 2)


def _retry_after(headers: Mapping[str, str]) -> float:
    """Seconds that an answer asks to wait; 0 where it does not say."""
    text = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,9}", text, re.ASCII):
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return 0.0
