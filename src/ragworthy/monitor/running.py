"""The monitor itself: minutes go to the rules, alerts to whoever wants them, and all of it into the state."""

import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ragworthy.live.alarms import Alarms
from ragworthy.live.minutes import OTHERS, Minute
from ragworthy.live.rules import LONGEST, State
from ragworthy.live.watch import FIRING, Watch
from ragworthy.live.watched import WATCHED, Acceptance
from ragworthy.monitor.alarming import told
from ragworthy.monitor.alerts import AlertFile, Told, fields, line
from ragworthy.monitor.intake import Intake
from ragworthy.monitor.problems import BUILDS
from ragworthy.monitor.reading import Reading
from ragworthy.monitor.state import Store
from ragworthy.monitor.times import MINUTE, written
from ragworthy.monitor.webhook import Webhook

EVERY = 0.25
"""Seconds between two transactions."""
_ALL = 1 << 62
NEEDS_SAMPLES = (State.TRUE, State.FALSE)


class Sinks(NamedTuple):
    """Who is told of minutes and alerts, besides the rules and the file."""

    minute: tuple[Callable[[Minute], None], ...] = ()
    alert: tuple[Callable[[Told], None], ...] = ()


class Monitor:
    """Everything between a block of a log and an alert."""

    def __init__(
        self, intake: Intake, watch: Watch, store: Store | None = None, file: AlertFile | None = None,
        webhook: Webhook | None = None, sinks: Sinks | None = None, alarms: Alarms | None = None,
    ) -> None:  # fmt: skip
        self.intake = intake
        self.watch = watch
        self.store = store
        self.file = file
        self.webhook = webhook
        self._offered = 0
        """The last alert that the webhook has taken."""
        self.sinks = sinks or Sinks()
        self.alarms = alarms
        self.acceptance = Acceptance(WATCHED if alarms is None else alarms.config.watches)
        """What a later run may take as its baseline."""
        self.whole = Minute(0)
        """All minutes together."""
        self.first: int | None = None
        self.minutes = 0
        self.fired: dict[str, int] = {}
        """How often each alert began."""
        self.judged: set[str] = set()
        """Rules on samples that had enough of them at some minute of this run."""
        self._kept = time.monotonic()
        self._lines: list[bytes] = []
        if store is not None:
            self._restore(store)

    def _restore(self, store: Store) -> None:
        store.restore(self.intake)
        held = store.get("monitor")
        if held is None:
            return
        self.whole = Minute.restore(held["whole"])
        self.first, self.minutes = held["first"], held["minutes"]
        if self.alarms is not None and held.get("alarms") is not None:
            self.alarms = Alarms.restore(self.alarms.config, self.alarms.baseline, held["alarms"])
        self.acceptance = Acceptance(self.acceptance.watches, held.get("acceptance"))
        at = held["watch"]["at"]
        self.watch.restore(held["watch"], store.minutes(at - LONGEST) if at is not None else [])
        self._file(store)

    def reading(self, *, whole: bool) -> Reading:
        """What reads the logs, from where the last run ended."""
        known = {} if self.store is None else self.store.sources()
        if self.store is not None and self.watch.at is not None:
            oldest = (self.watch.at - self.store.days * 24 * 60) * MINUTE
            gone = [name for name, source in known.items() if source.mark is not None and source.mark < oldest]
            self.store.forget(gone)
            known = {name: source for name, source in known.items() if name not in gone}
        return Reading(self.intake, whole=whole, known=known)

    def take(self, minutes: Iterable[Minute]) -> list[Told]:
        """Minutes that are closed, in order: the alerts that begin or end with them."""
        found: list[Told] = []
        for minute in minutes:
            alerts = [fields(alert) for alert in self.watch.step(minute)]
            alerts += [told(event) for event in self.alarms.step(minute)] if self.alarms is not None else []
            self.first = minute.at if self.first is None else self.first
            self.minutes += 1
            self.whole.merge(minute)
            if OTHERS in minute.built:
                self.intake.problems.add(BUILDS, written(minute.at), minute.built[OTHERS])
            self.acceptance.step(minute)
            self._told(minute, alerts)
            for tell in self.sinks.minute:
                tell(minute)
            found += alerts
        return found

    def until(self, at: int) -> list[Told]:
        """No records came until a full minute: the alerts that begin or end until then."""
        alerts = [fields(alert) for alert in self.watch.until(at)]
        if alerts:
            self._told(Minute(at), alerts)
        return alerts

    def _told(self, minute: Minute, alerts: list[Told]) -> None:
        for alert in alerts:
            if alert["state"] == FIRING:
                self.fired[alert["rule"]] = self.fired.get(alert["rule"], 0) + 1
        for rule, tick in self.watch.said:
            if tick.state in NEEDS_SAMPLES and not all(one.counts for one in rule.conditions):
                self.judged.add(rule.name)
        lines = [line(alert) for alert in alerts]
        if self.store is not None:
            self.store.add(minute, lines)
        else:
            self._lines += lines
            self._offer(lines)
        for alert in alerts:
            for tell in self.sinks.alert:
                tell(alert)

    def keep(self, reading: Reading, *, at_once: bool = False) -> bool:
        """Keep the state, now and then; whether it was kept."""
        if self.store is None or not (at_once or time.monotonic() - self._kept >= EVERY):
            return False
        self.store.commit(self.intake, reading.changed, {"monitor": self.state()})
        reading.changed.clear()
        self._file(self.store)
        self._send(self.store)
        self._kept = time.monotonic()
        return True

    def state(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "watch": self.watch.state(), "whole": self.whole.state(), "first": self.first, "minutes": self.minutes,
            "alarms": None if self.alarms is None else self.alarms.state(), "acceptance": self.acceptance.state(),
        }  # fmt: skip

    def _file(self, store: Store) -> None:
        """Append what is kept and not yet in the file."""
        while waiting := store.waiting("filed"):
            if self.file is not None:
                self.file.append([one.line for one in waiting])
            store.done("filed", waiting[-1].nth)

    def _offer(self, lines: list[bytes]) -> None:
        """Alerts that nobody keeps go to the webhook at once, if there is room."""
        for one in lines if self.webhook is not None else ():
            self._offered += 1
            if self.webhook is not None and not self.webhook.offer(self._offered, one):
                self.webhook.give_up()

    def _send(self, store: Store) -> None:
        """Let the webhook have what is kept and not yet sent; note what it has done."""
        webhook = self.webhook
        if webhook is None:
            store.done("sent", _ALL)
            return
        store.done("sent", webhook.done)
        for one in store.waiting("sent"):
            if one.nth > self._offered:
                if not webhook.offer(one.nth, one.line):
                    return
                self._offered = one.nth

    def end(self, seconds: float) -> None:
        """Wait so long for alerts that are being sent, and note which were."""
        if self.webhook is None:
            return
        self.webhook.close(seconds)
        if self.store is not None:
            self.store.done("sent", self.webhook.done)

    def lines(self) -> bytes:
        """Every alert of a run without a state."""
        return b"".join(self._lines)

    @property
    def code(self) -> int:
        """0 where nothing fires, 1 where an alert fired, 3 where no rule had enough samples or too much was late."""
        if self.fired or self.watch.firing or (self.alarms is not None and self.alarms.firing()):
            return 1
        return 0 if self.judged and self.intake.run.blind is None else 3
