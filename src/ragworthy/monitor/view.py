"""What a person looks at: every rule with its number, drawn again at each minute on a terminal, as lines on a pipe."""

import time
from collections import deque
from collections.abc import Callable
from typing import Any, TextIO

from ragworthy.monitor.alerts import Told
from ragworthy.monitor.problems import MEANS
from ragworthy.safe import terminal

HOME = "\x1b[H\x1b[J"
"""To the beginning of the screen, and clear what follows."""
_LAST = 8
"""So many alerts stay on the screen."""
_STATES = {"true": "bad", "false": "ok", "insufficient": "too few samples", "no baseline": "no baseline"}


def short(value: float | None) -> str:
    """A number in a few digits, never rounded up to a limit it does not reach.

    >>> short(0.69996), short(12), short(None), short(1234.5678)
    ('0.6999', '12', '–', '1234.5')
    """
    if value is None:
        return "–"
    if isinstance(value, int) or value == int(value):
        return str(int(value))
    places = 1 if abs(value) >= 100 else 4
    cut = int(abs(value) * 10**places) / 10**places
    return f"{'-' if value < 0 else ''}{cut:.{places}f}"


def lines(told: dict[str, Any]) -> list[str]:
    """The summary as a page of text."""
    span = "no minute is over yet" if told["last"] is None else f"{told['first']} to {told['last']}"
    made = [f"live traffic: {told['records']:,} records, {span}", ""]
    for rule in told["rules"]:
        state = "ALERT" if rule["firing"] else _STATES[rule["state"]]
        limit = f"{rule['sign']} {short(rule['limit'])}" if rule["limit"] is not None else ""
        samples = f"{rule['samples']:,} in {rule['minutes']} min"
        made.append(f"  {rule['rule']:<20} {short(rule['value']):>9}  bad {limit:<9} {samples:>20}  {state}")
    spent = [
        f"{field} {short(100 * one['spent'])} %" for field, one in told["budgets"].items() if one["spent"] is not None
    ]
    made += ["", f"  error budget of the last hour spent: {', '.join(spent) if spent else 'too few samples'}"]
    made += _blind(told["alarms"]["blind"], told["alarms"]["watched"]) if "alarms" in told else []
    if told["webhook"] is not None:
        made.append(
            "  webhook: {sent:,} alerts sent, {failed:,} failed after all tries, {dropped:,} given up".format(
                **told["webhook"]
            )
        )
    made += [] if told["blind"] is None else [f"  {unjudged(told['blind'])}"]
    for name, held in told["problems"].items():
        first = f" (first: {held['first'][0]})" if held["first"] and held["first"][0] else ""
        made.append(f"  {held['count']:,} {name}: {MEANS[name]}{first}")
    return [terminal(line) for line in made]


def unjudged(blind: dict[str, Any]) -> str:
    """What to do where too many records could not be judged."""
    return terminal(
        f"{blind['missed']:,} of {blind['records']:,} records were late or from the future (first: "
        f"{blind['first']}): set that clock right, give each process a log of its own, or raise --lateness"
    )


def _blind(blind: list[dict[str, Any]], watched: int) -> list[str]:
    """What the alarms do not watch, by the reason."""
    made = [] if watched else ["  alarms: nothing is watched; that takes a --baseline"]
    named: dict[str, list[str]] = {}
    for one in blind:
        part = one["slice"]
        name = one["field"] if part is None else part if one["field"] == "*" else f"{one['field']} of {part}"
        named.setdefault(one["why"], []).append(name)
    return made + [f"  alarms do not watch, {why}: {', '.join(names)}" for why, names in named.items() if watched]


def alert_line(alert: Told) -> str:
    """An alert as one line."""
    firing = alert["state"] == "firing"
    value = short(alert["value"])
    what = f"{value} {alert['sign']} {short(alert['limit'])}" if firing else f"now {value}"
    part = f" [{alert['slice']}]" if alert["slice"] else ""
    rollback = ", take the index back" if alert["rollback"] and firing else ""
    return terminal(
        f"{alert['at']} {alert['state']} {alert['rule']}{part}: {what}, {alert['samples']:,} samples in "
        f"{alert['minutes']} min{rollback}"
    )


class Screen:
    """Where it is shown: drawn again on a terminal, alerts as they come on a pipe."""

    def __init__(self, stream: TextIO, *, redraws: bool, quiet: bool = False) -> None:
        self._stream = stream
        self._redraws = redraws
        self._quiet = quiet
        self._last: deque[str] = deque(maxlen=_LAST)
        self._drawn = 0.0

    def alerts(self, alerts: list[Told]) -> None:
        """Alerts that begin or end."""
        for alert in alerts:
            self._last.append(alert_line(alert))
            if not self._redraws and not self._quiet:
                self._stream.write(self._last[-1] + "\n")
                self._stream.flush()

    def draw(self, summary: Callable[[], dict[str, Any]], *, at_once: bool = False) -> None:
        """The whole page, at most once a second."""
        if not self._redraws or (not at_once and time.monotonic() - self._drawn < 1.0):
            return
        self._drawn = time.monotonic()
        page = [*lines(summary()), "", *self._last, "", "Ctrl-C ends it; the state is kept."]
        self._stream.write(HOME + "\n".join(page) + "\n")
        self._stream.flush()
