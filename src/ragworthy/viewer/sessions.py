"""Who may come in: the token that is asked for, the visits that it opened, and the sign of a form of ours."""

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict, deque

LONGEST = 256
"""Visits that are open at a time; the oldest one ends."""
TRIES, WITHIN = 20, 60.0
"""So many wrong tokens are heard out in so many seconds, whoever shows them."""
_ID = 43
"""Characters of 32 random bytes."""


class Sessions:
    """Visits of browsers. Where no token is needed every visit is as good as another."""

    def __init__(self, token: str, name: str) -> None:
        """`name` is that of the cookie."""
        self.name = name
        self.guarded = bool(token)
        self._token = hashlib.sha256(token.encode()).digest()
        self._secret = secrets.token_bytes(32)
        self._open: OrderedDict[str, None] = OrderedDict()
        self._wrong: deque[float] = deque(maxlen=TRIES)

    def is_token(self, given: str) -> bool:
        """Whether it is the token; how long that takes does not tell."""
        return hmac.compare_digest(hashlib.sha256(given.encode("utf-8", "replace")).digest(), self._token)

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

    def refuse(self) -> None:
        """Note a wrong token."""
        self._wrong.append(time.monotonic())

    @property
    def is_besieged(self) -> bool:
        """Whether so many wrong tokens came that none is heard out for a while."""
        return len(self._wrong) == TRIES and time.monotonic() - self._wrong[0] < WITHIN


def is_visit(text: str) -> bool:
    """Whether a cookie could be one of ours."""
    return len(text) == _ID and text.isascii() and text.replace("-", "").replace("_", "").isalnum()
