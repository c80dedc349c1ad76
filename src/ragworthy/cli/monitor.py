"""`ragworthy monitor`: live traffic from logs and from spans that are sent here."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ragworthy.cli.say import print, show
from ragworthy.errors import MissingExtra, data_error, usage_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from ragworthy.live.alarms import Alarms
    from ragworthy.monitor.alerts import Told
    from ragworthy.monitor.listen import Address
    from ragworthy.monitor.running import Monitor


def monitor(given: argparse.Namespace) -> int:
    """Replay logs, or watch them; or write rules and dashboards for those who watch elsewhere."""
    if given.logs[:1] == ["export"]:
        from ragworthy.cli.monitor_export import export

        return export(given)
    if not given.logs and not given.listen:
        raise usage_error("expected log files, folders or patterns, or --listen HOST:PORT, got neither")
    if given.once and (given.follow or given.listen):
        raise usage_error("expected either --once, or --follow and --listen, got both")
    if given.follow or given.listen:
        return _watch(given)
    return _once(given)


def made(given: argparse.Namespace, *, growing: bool) -> "Monitor":
    """The monitor that the flags describe."""
    from ragworthy.live.records import Settings
    from ragworthy.live.watch import Watch
    from ragworthy.load.refusal_packs import refusals_of
    from ragworthy.monitor.alerts import AlertFile
    from ragworthy.monitor.intake import Intake, Options
    from ragworthy.monitor.running import Monitor
    from ragworthy.monitor.state import Store
    from ragworthy.monitor.summary import baseline

    path = given.state or (".ragworthy/monitor.db" if growing else None)
    packs = argparse.Namespace(refusal_packs=tuple(given.refusal_pack), refusal_starts=(), refusal_patterns=())
    settings = Settings(refusals=refusals_of(packs), known=_known(given.corpus))
    alarms = _alarms(given)
    watched = frozenset() if alarms is None else alarms.slices
    options = Options(settings, given.lateness, given.sample, watched=watched, remember=path is not None)
    watch = Watch(baseline=baseline(Path(given.baseline)) if given.baseline else None)
    kept = {"lateness": given.lateness, "sample": given.sample}
    store = None if path is None else Store(Path(path), kept, given.days)
    file = AlertFile(Path(given.alerts)) if given.alerts and store is not None else None
    webhook = None
    if given.webhook:
        from ragworthy.monitor.webhook import Webhook

        webhook = Webhook(given.webhook)
    return Monitor(Intake(options), watch, store, file, webhook, alarms=alarms)


def _alarms(given: argparse.Namespace) -> "Alarms | None":
    if not given.alarms:
        return None
    from ragworthy.live.alarms import Alarms
    from ragworthy.live.watched import Baseline
    from ragworthy.monitor.alarming import accepted, config
    from ragworthy.text import clip

    one = Alarms(config(Path(given.alarms)), accepted(Path(given.baseline)) if given.baseline else Baseline())
    if not one.detectors and given.baseline:
        names = ", ".join(watch.name for watch in one.config.watches)
        message = f"expected something of what is watched ({clip(names, 200)}) with enough cases, got nothing"
        raise data_error("RW-O21", message, where=given.baseline)
    return one


def _known(corpus: str | None) -> frozenset[str] | None:
    if corpus is None:
        return None
    from ragworthy.load.chunks import read_chunks
    from ragworthy.load.sources import open_source

    path = Path(corpus) / "chunks.jsonl" if Path(corpus).is_dir() else Path(corpus)
    return frozenset(chunk.name for chunk in read_chunks(open_source("corpus", path)))


def _once(given: argparse.Namespace) -> int:
    """Read the logs to their end."""
    from ragworthy.files import write_whole
    from ragworthy.monitor.logs import found, same
    from ragworthy.monitor.reading import now

    def listing() -> list[Path]:
        return [path for path in found(given.logs) if not given.alerts or not same(path, Path(given.alerts))]

    listing()  # a path without a log is an error before anything is made
    one = made(given, growing=False)
    whole = one.store is None or given.close
    reading = one.reading(whole=whole)
    reading.look(listing)
    present = now()
    alerts: list[Told] = []
    while (minutes := reading.read(present)) is not None:
        alerts += one.take(minutes)
        one.keep(reading)
    if whole:
        alerts += one.take(reading.finish(present))
    one.keep(reading, at_once=True)
    one.end(60.0)
    if given.alerts and one.store is None:
        write_whole(Path(given.alerts), one.lines())
    _told(given, one, alerts)
    return one.code


def _watch(given: argparse.Namespace) -> int:
    """Go on until somebody ends it."""
    import sys

    from ragworthy.monitor.service import Service
    from ragworthy.monitor.view import Screen

    where, token = _door(given)
    one = made(given, growing=True)
    quiet = given.quiet or given.format == "json"
    screen = Screen(sys.stdout, redraws=sys.stdout.isatty() and not quiet, quiet=quiet)
    listener = None
    if where is not None and one.store is not None:
        from ragworthy.monitor.listen import Listener
        from ragworthy.monitor.spool import Spool

        metrics, without = _metrics(one)
        listener = Listener(where, Spool(one.store.path.with_suffix(".spool")), token, metrics)
        listener.start()
        stream = sys.stderr if given.format == "json" else sys.stdout
        print(f"listening at http://{where.shown(listener.port)}/v1/traces{without}", file=stream, flush=True)
    Service(one, given.logs, screen, listener).run()
    one.end(10.0)
    if given.format == "json":
        _told(given, one, [])
    elif not quiet and not sys.stdout.isatty():  # a terminal has the page already
        _page(one)
    return 0


def _metrics(one: "Monitor") -> "tuple[Callable[[], bytes] | None, str]":
    """What serves /metrics, or why nothing does."""
    from ragworthy.monitor.openmetrics import Exporter
    from ragworthy.monitor.running import Sinks

    try:
        exporter = Exporter(one.watch.baseline, lambda: dict(one.intake.problems.counts))
    except MissingExtra:
        return None, " (no /metrics: that needs prometheus-client)"
    alarms = one.alarms.firing() if one.alarms is not None else []
    for rule, part in [*((rule, None) for rule in one.watch.firing), *alarms]:
        exporter.alert({"rule": rule, "slice": part, "state": "firing"})
    one.sinks = Sinks((exporter.take,), (exporter.alert,))
    return exporter.text, ""


def _door(given: argparse.Namespace) -> "tuple[Address | None, str]":
    """Where to listen, and the token that senders must show."""
    import os

    from ragworthy.monitor.listen import address

    where = address(given.listen) if given.listen else None
    token = os.environ.get(given.token_env, "") if given.token_env else ""
    if given.token_env and not token:
        raise usage_error(f"--token-env: expected a token in {given.token_env}, got nothing", code="RW-O05")
    if where is not None and not where.local and not token:
        message = f"--listen: expected a token (--token-env NAME) for {where.host}, which others can reach, got none"
        raise usage_error(message, code="RW-O05")
    return where, token


def _page(one: "Monitor") -> None:
    from ragworthy.monitor.summary import summary
    from ragworthy.monitor.view import lines

    print()
    for line in lines(summary(one)):
        print(line)


def _told(given: argparse.Namespace, one: "Monitor", alerts: "list[Told]") -> None:
    import msgspec

    from ragworthy.monitor.summary import summary
    from ragworthy.monitor.view import alert_line, unjudged

    if given.format == "json":
        show(msgspec.json.format(msgspec.json.encode(summary(one)), indent=2).decode() + "\n")
        return
    if not given.quiet:
        for alert in alerts:
            print(alert_line(alert))
        _page(one)
        print()
    began = sum(one.fired.values())
    ends = {0: "nothing fires", 1: f"{began} alert{'' if began == 1 else 's'} fired", 3: "too few samples to judge"}
    if one.code == 1 and not began:
        ends[1] = f"still firing: {', '.join(sorted(one.watch.firing))}"
    blind = one.intake.run.blind
    if one.code == 3 and blind is not None:
        ends[3] = "too much was late or from the future to say that nothing fires"
        ends[3] += f": {unjudged(blind._asdict())}" if given.quiet else ""
    print(f"{ends[one.code]} (exit {one.code})")
