"""Times: what logs write, and what alerts say."""

from datetime import UTC, datetime, timedelta

MILLION = 1_000_000
MINUTE = 60 * MILLION
"""In microseconds."""
_SINCE = datetime(1970, 1, 1, tzinfo=UTC)


def microseconds(value: str | int | float | None) -> int | None:
    """A time as microseconds since the epoch: ISO 8601, or a number of seconds, milli-, micro- or nanoseconds.

    >>> microseconds("1970-01-01T00:01:00Z"), microseconds(1.5), microseconds(1_700_000_000_000), microseconds("soon")
    (60000000, 1500000, 1700000000000000, None)
    """
    if isinstance(value, str):
        try:
            time = datetime.fromisoformat(value)
        except ValueError:
            return _digits(value)
        if time.tzinfo is None:
            time = time.replace(tzinfo=UTC)
        try:
            return round(time.timestamp() * MILLION)
        except (OverflowError, ValueError):
            return None
    if value is None or isinstance(value, bool) or value < 0:
        return None
    for limit, scale in ((1e11, 1e6), (1e14, 1e3), (1e17, 1.0), (1e20, 1e-3)):
        if value < limit:
            return round(value * scale) if scale >= 1 else int(value) // 1000
    return None


def _digits(text: str) -> int | None:
    return microseconds(int(text)) if text.isascii() and text.isdecimal() and len(text) < 20 else None


def minute_of(at: int) -> int:
    """The full minute at which a record is counted first.

    >>> minute_of(60_000_000), minute_of(60_000_001)
    (1, 2)
    """
    return -(-at // MINUTE)


def written(minute: int) -> str:
    """A full minute as alerts write it.

    >>> written(29_000_000)
    '2025-02-19T21:20:00Z'
    """
    try:
        return (_SINCE + timedelta(minutes=minute)).strftime("%Y-%m-%dT%H:%M:%SZ")
    except OverflowError:
        return f"minute {minute}"
