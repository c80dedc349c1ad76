"""Who may come in: the token that is asked for, the visits that it opened, and the sign of a form of ours."""

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict, deque

LONGEST = 256
"""Visits that are open at a time; the oldest one ends."""
TRIES, WITHIN = 10, 60.0
"""So many wrong tokens of one address are heard out in so many seconds."""
ADDRESSES = 1_024
"""Addresses of which wrong tokens are remembered; then the oldest one is forgotten."""
_ID = 43
"""Characters of 32 random bytes."""


class Sessions:
    """Visits of browsers. Where no token is needed every visit is as good as another."""

    def __init__(self, token: str, name: str) -> None:
        """`name` is that of the cookie."""
        self.name = name
        self.guarded = bool(token)
        self._plain = token
        self._token = hashlib.sha256(token.encode()).digest()
        self._secret = secrets.token_bytes(32)
        self._open: OrderedDict[str, None] = OrderedDict()
        self._wrong: OrderedDict[str, deque[float]] = OrderedDict()

    def is_token(self, given: str) -> bool:
        """Whether it is the token; how long that takes does not tell."""
        return hmac.compare_digest(hashlib.sha256(given.encode("utf-8", "replace")).digest(), self._token)

    def masked(self, text: str) -> str:
        """A text without the token: somebody may have put it into an address."""
        return text.replace(self._plain, "…") if self._plain else text

    def begin(self) -> str:
        """A visit that is let in."""
        made = self.fresh()
        self._open[made] = None
        while len(self._open) > LONGEST:
            self._open.popitem(last=False)
        return made

    def end(self, visit: str) -> None:
        """A visit is over."""
        self._open.pop(visit, None)

    def fresh(self) -> str:
        """A visit of which nothing is known."""
        return secrets.token_urlsafe(32)

    def is_open(self, visit: str) -> bool:
        """Whether a visit has shown the token."""
        return visit in self._open

    def sign(self, visit: str) -> str:
        """What a form of this visit carries: nobody else can make it."""
        return hmac.new(self._secret, visit.encode(), hashlib.sha256).hexdigest()

    def is_signed(self, visit: str, given: str) -> bool:
        """Whether a form is one that this visit was given."""
        return hmac.compare_digest(self.sign(visit).encode(), given.encode("utf-8", "replace"))

    def refuse(self, address: str) -> None:
        """Note a wrong token."""
        self._wrong.setdefault(address, deque(maxlen=TRIES)).append(time.monotonic())
        while len(self._wrong) > ADDRESSES:
            self._wrong.popitem(last=False)

    def is_guessing(self, address: str) -> bool:
        """Whether so many wrong tokens came from an address that none of it is heard out for a while."""
        wrong = self._wrong.get(address, deque())
        return len(wrong) == TRIES and time.monotonic() - wrong[0] < WITHIN


def is_visit(text: str) -> bool:
    """Whether a cookie could be one of ours."""
    return len(text) == _ID and text.isascii() and text.replace("-", "").replace("_", "").isalnum()
