"""`ragworthy monitor export`: the rule table for Prometheus, and dashboards for Grafana."""

import argparse
import json
from fractions import Fraction
from pathlib import Path

from ragworthy.cli.say import print, show
from ragworthy.errors import usage_error

KINDS = ("prometheus-rules", "grafana")


def export(given: argparse.Namespace) -> int:
    """Write what was asked for: rules to a file or stdout, dashboards to a folder."""
    kinds = given.logs[1:]
    if len(kinds) != 1 or kinds[0] not in KINDS:
        got = " ".join(kinds) or "nothing"
        raise usage_error(f"monitor export: expected prometheus-rules or grafana, got {got}")
    from ragworthy.files import write_whole
    from ragworthy.monitor.summary import baseline

    accepted: dict[str, Fraction] = baseline(Path(given.baseline)) if given.baseline else {}
    if kinds[0] == "grafana":
        if not given.out:
            raise usage_error("monitor export grafana: expected --out DIR, got none: there is a file for each board")
        from ragworthy.monitor.grafana import boards, dashboard

        for board in boards(accepted):
            path = Path(given.out) / f"ragworthy-{board.name}.json"
            text = json.dumps(dashboard(board), ensure_ascii=False, indent=2) + "\n"
            write_whole(path, text.encode())
            print(f"{path}: {board.title}, {len(board.panels)} panels")
        return 0
    from ragworthy.monitor.prometheus import alerts, recordings, rules_file

    by = tuple(given.by)
    text = rules_file(accepted, by)
    if not given.out:
        show(text)
        return 0
    write_whole(Path(given.out), text.encode())
    print(f"{given.out}: {len(recordings(accepted, by))} recording rules, {len(alerts(accepted))} alerts")
    return 0
