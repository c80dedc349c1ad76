"""/metrics and the rules for Prometheus: real promtool and a real server against our own replay of the same traffic."""

import json
import random
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from ragworthy.live.minutes import FIELDS, Minute
from ragworthy.live.rules import RULES, Sample, evaluate
from ragworthy.live.watch import Alert
from ragworthy.monitor import series
from ragworthy.monitor.alerts import fields
from ragworthy.monitor.grafana import boards, dashboard
from ragworthy.monitor.openmetrics import Exporter
from ragworthy.monitor.prometheus import WINDOWS, alerts, camel, recordings, rules_file

needs_prometheus = pytest.mark.skipif(
    shutil.which("promtool") is None or shutil.which("prometheus") is None,
    reason="promtool and prometheus are not installed: apt-get install --no-install-recommends prometheus",
)
BASELINE = {"retrieve_ms": Fraction(100), "reason_ms": Fraction(1000)}
SOURCES_NAMES = [
    "rag_e2e_latency_seconds", "rag_error_count_total", "rag_request_count_total", "retriever_qps_total",
    "retriever_retrieved_docs_count", "retriever_empty_result_count_total", "vectorstore_index_load_time_seconds",
    "vectorstore_memory_bytes", "vectorstore_indexed_docs_total", "rag_citation_hit_rate", "rag_precision_shipped",
    "rag_under_refusal_count_total", "llm_api_rate_limited_total", "llm_api_error_total", "queue_backlog_count",
]  # fmt: skip


def minute(at: int, samples: list[Sample], watched: frozenset[str] = frozenset()) -> Minute:
    made = Minute(at, watched)
    for sample in samples:
        made.add(sample)
    return made


def families(text: bytes) -> list[Any]:
    return list(text_string_to_metric_families(text.decode()))  # type: ignore[no-untyped-call]


def values(text: bytes) -> dict[str, float]:
    """Every sample of an exposition by its series."""
    found = {}
    for family in families(text):
        for sample in family.samples:
            labels = ",".join(f'{name}="{value}"' for name, value in sorted(sample.labels.items()))
            found[f"{sample.name}{{{labels}}}" if labels else sample.name] = float(sample.value)
    return found


def varied(draw: random.Random, at: int) -> Sample:
    return Sample(
        Fraction(60 * at),
        coverage=Fraction(draw.choice([0, 1, 1, 1, 1])),
        delta_s=Fraction(draw.randrange(700), 1000),
        diverged=Fraction(draw.random() < 0.05),
        accurate=Fraction(draw.random() < 0.97),
        tau=Fraction(draw.randrange(-10, 11), 10),
        retrieve_ms=Fraction(draw.randrange(1, 200)),
        reason_ms=Fraction(draw.randrange(1, 2000)),
        e2e_ms=Fraction(draw.randrange(1, 3000)),
        cited=Fraction(draw.random() < 0.8),
        error=Fraction(draw.random() < 0.02),
        built=("b1", "h1"),
        slices=("region=eu" if draw.random() < 0.5 else "region=us",),
    )


# the exposition


def test_each_name_of_the_sources_is_exported_or_has_a_reason() -> None:
    exporter = Exporter()
    exporter.take(minute(1, [varied(random.Random(1), 1) for _ in range(300)]))
    exporter.scored(precision=0.91, under_refusals=3)
    exported = {re.sub(r"\{.*", "", name) for name in values(exporter.text())}
    for name in SOURCES_NAMES:
        there = name in exported or f"{name}_count" in exported
        assert there != (name in series.NOT_EXPORTED), name


def test_every_field_of_a_sample_has_a_series() -> None:
    assert set(series.COUNTED) | set(series.spreads()) == set(FIELDS)
    assert not set(series.COUNTED) & set(series.spreads())


def test_the_sum_over_exporters_is_the_one_of_all_records() -> None:
    draw = random.Random(2)
    samples = [varied(draw, 1) for _ in range(900)]
    watched = frozenset({"region=eu", "region=us"})
    whole, parts = Exporter(BASELINE), [Exporter(BASELINE) for _ in range(3)]
    whole.take(minute(1, samples, watched))
    for n, part in enumerate(parts):
        part.take(minute(1, samples[n::3], watched))
    expected = values(whole.text())
    one_by_one = [values(part.text()) for part in parts]
    for name, value in expected.items():
        if name not in (series.HIT_RATE, series.CLOCK):
            assert sum(part[name] for part in one_by_one) == pytest.approx(value, abs=1e-9), name
    assert expected["rag_request_count_total"] == 900
    assert expected["rag_coverage_sum"] == float(sum(sample.coverage or 0 for sample in samples))


def test_a_bucket_ends_exactly_at_the_limit_of_a_rule() -> None:
    seen = [
        Sample(Fraction(60), coverage=Fraction(text), delta_s=Fraction(other), e2e_ms=Fraction(ms))
        for text, other, ms in (("0.7", "0.6", 2000), ("0.699999", "0.599999", 2001), ("0.699999", "0.45", 1999))
    ]
    exporter = Exporter(BASELINE)
    exporter.take(minute(1, seen))
    found = values(exporter.text())
    assert found['rag_coverage_bucket{le="0.699999"}'] == 2  # below 0.70
    assert found['rag_delta_s_bucket{le="0.599999"}'] == 2  # all but the one at 0.60
    assert found['rag_delta_s_bucket{le="0.45"}'] == 1  # 0.45 is not above 0.45
    assert found['rag_e2e_latency_seconds_bucket{le="2.0"}'] == 2
    assert 'rag_retrieve_latency_seconds_bucket{le="0.13"}' in found
    assert 'rag_retrieve_latency_seconds_bucket{le="0.13"}' not in values(Exporter().text())


def test_the_hit_rate_is_that_of_the_window_of_the_rules() -> None:
    exporter = Exporter()
    for at in range(1, 41):
        hits = [Sample(Fraction(60 * at), cited=Fraction(at > 30)) for _ in range(10)]
        exporter.take(minute(at, hits))
        if at == 19:
            assert series.HIT_RATE not in values(exporter.text())  # 190 answers
    assert values(exporter.text())[series.HIT_RATE] == 0.5  # the last 20 minutes hold 200


def test_labels_that_senders_make_up_stay_few() -> None:
    exporter = Exporter()
    for at in range(1, 4):
        exporter.take(minute(at, [Sample(Fraction(60 * at), built=(f"b{at}-{n}", "h")) for n in range(500)]))
    assert sum(name.startswith(series.HASHES) for name in values(exporter.text())) <= 100


def test_hostile_labels_are_escaped() -> None:
    exporter = Exporter()
    name = 'b"} 1\n# EOF\nx{y="\\'
    exporter.take(minute(1, [Sample(Fraction(60), built=(name, "h"))]))
    (family,) = [one for one in families(exporter.text()) if one.name == series.HASHES]
    assert [sample.labels["build"] for sample in family.samples] == [name]


def test_the_same_minutes_give_the_same_bytes() -> None:
    texts = []
    for seed in (1, 2):
        samples = [varied(random.Random(5), 1) for _ in range(50)]
        random.Random(seed).shuffle(samples)
        exporter = Exporter()
        exporter.take(minute(1, samples))
        texts.append(exporter.text())
    assert texts[0] == texts[1]
    assert texts[0].endswith(b"# EOF\n")


# the rules


def run(*command: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=cwd, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@needs_prometheus
@pytest.mark.parametrize("by", [(), ("job",)])
def test_promtool_accepts_the_rules(tmp_path: Path, by: tuple[str, ...]) -> None:
    (tmp_path / "rules.yml").write_text(rules_file(BASELINE, by), encoding="utf-8")
    said = run("promtool", "check", "rules", "--lint-fatal", tmp_path / "rules.yml")
    assert f"SUCCESS: {len(recordings(BASELINE, by)) + len(alerts(BASELINE))} rules found" in said


def test_the_file_is_the_table() -> None:
    (group,) = yaml.safe_load(rules_file(BASELINE))["groups"]
    found = {rule["alert"]: rule for rule in group["rules"] if "alert" in rule}
    assert list(found) == [*(camel(rule.name) for rule in RULES), "RagworthyAlarm"]
    for rule in RULES:
        assert found[camel(rule.name)]["for"] == f"{rule.ticks - 1}m"
        assert found[camel(rule.name)]["annotations"]["source"] == rule.source
    without = yaml.safe_load(rules_file())["groups"][0]["rules"]
    assert "RagworthyLatency" not in [rule.get("alert") for rule in without]  # nothing to compare with


def stream(traffic: int, last: int) -> list[list[Sample]]:
    """Two hours of made traffic in which one thing after another goes wrong for a while."""
    draw = random.Random(9)
    minutes = []
    for at in range(1, last + 1):

        def during(begin: int, length: int = 12, at: int = at) -> bool:
            return begin <= at < begin + length

        minutes.append(
            [
                Sample(
                    Fraction(60 * at),
                    coverage=Fraction(draw.random() < (0.5 if during(10) else 0.97)),
                    delta_s=Fraction(round((0.35 if during(20) else 0) + draw.betavariate(4, 16), 4)),
                    diverged=Fraction(draw.random() < (0.3 if during(30) else 0.03)),
                    accurate=Fraction(draw.random() < (0.8 if during(40) else 0.99)),
                    tau=Fraction(round(draw.uniform(-0.2, 0.5) if during(50) else draw.uniform(0.7, 1), 3)),
                    retrieve_ms=Fraction(draw.randrange(150, 400) if during(60) else draw.randrange(20, 100)),
                    reason_ms=Fraction(draw.randrange(200, 1000)),
                    e2e_ms=Fraction(draw.randrange(1500, 6000) if during(70) else draw.randrange(200, 1500)),
                    error=Fraction(draw.random() < (0.5 if during(80) else 0.0)),
                    empty=Fraction(draw.random() < (0.2 if during(90) else 0.0)),
                    cited=Fraction(draw.random() < (0.3 if during(95, 20) else 0.9)),
                    unauthorised=Fraction(during(108, 1) and n == 0),
                    built=("b1", "h2" if during(112, 2) and n == 1 else "h1"),
                )
                for n in range(traffic)
            ]
        )
    return minutes


def recorded(minutes: list[list[Sample]]) -> tuple[dict[str, list[float | None]], list[Minute]]:
    """What a Prometheus that scrapes at each full minute sees."""
    exporter, seen = Exporter(BASELINE), dict[str, list[float | None]]()
    closed = []
    for place, samples in enumerate(minutes):
        closed.append(minute(place + 1, samples))
        exporter.take(closed[-1])
        for name, value in values(exporter.text()).items():
            seen.setdefault(name, [None] * place).append(value)
        for history in seen.values():
            history += [None] * (place + 1 - len(history))
    return seen, closed


def fired(minutes: list[list[Sample]], first: int, last: int) -> dict[int, set[str]]:
    """The rules that fire at each tick, by the exact evaluator."""
    samples = [sample for one in minutes for sample in one]
    found: dict[int, set[str]] = {at: set() for at in range(first, last + 1)}
    for rule in RULES:
        for tick in evaluate(rule, samples, 1, last, BASELINE):
            if tick.fires and tick.at in found:
                found[tick.at].add(rule.name)
    return found


def written(history: list[float | None]) -> str:
    """A series as promtool takes it. A real scrape notices at once that a series is gone."""
    pairs = zip([None, *history], history, strict=False)
    said = [repr(now) if now is not None else "_" if before is None else "stale" for before, now in pairs]
    return " ".join(["_", *said])  # its first value belongs to time 0, and our first tick is minute 1


def checked_by_promtool(folder: Path, seen: dict[str, list[float | None]], expected: dict[int, set[str]]) -> None:
    """Let promtool evaluate the rules over the series, and hold its alerts to ours at every tick."""
    labels = {alert["labels"].get("rule"): alert for alert in alerts(BASELINE)}

    def sample(name: str) -> dict[str, Any]:
        alert = labels[name]
        given = {"alertname": alert["alert"], "alertstate": "firing", **alert["labels"]}
        return {"labels": "ALERTS{" + ",".join(f'{key}="{value}"' for key, value in given.items()) + "}", "value": 1}

    test = {
        "rule_files": ["rules.yml"],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": name, "values": written(history)} for name, history in seen.items()],
                "promql_expr_test": [
                    {
                        "expr": 'ALERTS{alertstate="firing"}',
                        "eval_time": f"{at}m",
                        "exp_samples": [sample(name) for name in sorted(names)],
                    }
                    for at, names in expected.items()
                ],
            }
        ],
    }
    (folder / "rules.yml").write_text(rules_file(BASELINE), encoding="utf-8")
    (folder / "test.yml").write_text(json.dumps(test), encoding="utf-8")
    run("promtool", "test", "rules", "test.yml", cwd=folder)


@needs_prometheus
def test_prometheus_fires_at_the_ticks_of_our_own_replay(tmp_path: Path) -> None:
    minutes = stream(60, 120)
    seen, _ = recorded(minutes)
    expected = fired(minutes, 7, 120)
    assert {name for names in expected.values() for name in names} == {rule.name for rule in RULES}
    checked_by_promtool(tmp_path, seen, expected)


@needs_prometheus
def test_with_little_traffic_the_windows_grow_in_prometheus_too(tmp_path: Path) -> None:
    # 10 a minute: 200 samples are 20 minutes, which is one of the lengths; the first hour has no whole windows.
    assert 20 in WINDOWS
    draw = random.Random(3)
    minutes = [
        [
            Sample(Fraction(60 * at), coverage=Fraction(draw.random() < (0.2 if 90 <= at < 130 else 1)))
            for _ in range(10)
        ]
        for at in range(1, 161)
    ]
    seen, _ = recorded(minutes)
    expected = fired(minutes, 62, 160)
    assert expected[89] == set()
    assert {"coverage_drop", "coverage_batch"} in expected.values()
    checked_by_promtool(tmp_path, seen, expected)


@needs_prometheus
def test_promtool_finds_a_rule_that_is_wrong(tmp_path: Path) -> None:
    minutes = stream(60, 20)
    seen, _ = recorded(minutes)
    with pytest.raises(AssertionError, match="FAILED"):
        checked_by_promtool(tmp_path, seen, {at: set() for at in range(7, 21)})  # coverage drops at 10


# a real server


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


SERVED = """
import sys
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, HTTPServer
from ragworthy.live.minutes import Minute
from ragworthy.live.rules import Sample
from ragworthy.monitor.openmetrics import CONTENT_TYPE, Exporter

exporter = Exporter({"retrieve_ms": Fraction(100), "reason_ms": Fraction(1000)})
minute = Minute(1, frozenset({"region=eu"}))
for n in range(250):
    minute.add(Sample(Fraction(60), coverage=Fraction(n % 2), e2e_ms=Fraction(n), cited=Fraction(1), tau=Fraction(1, 2),
                      delta_s=Fraction(1, 4), built=("b1", "h1"), slices=("region=eu",)))
exporter.take(minute)
exporter.alert({"rule": "anytime:coverage", "slice": None, "state": "firing"})

class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        body = exporter.text()
        self.send_response(200)
        self.send_header("Content-Type", CONTENT_TYPE)
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *ignored):
        return

HTTPServer(("127.0.0.1", int(sys.argv[1])), Page).serve_forever()
"""


def asked(port: int, path: str) -> Any:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/{path}", timeout=10) as answer:
        return json.load(answer)["data"]


def until(found: Any, seconds: float = 40) -> Any:
    """What a question gives as soon as it gives something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if answer := found():
                return answer
        except OSError:
            pass
        time.sleep(0.3)
    raise AssertionError("nothing came")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[int]:
    """A Prometheus that scrapes two exporters every second."""
    ports, port = [free_port(), free_port()], free_port()
    # Evaluated each second instead of each minute: what is asked here does not depend on windows.
    rules = rules_file(BASELINE).replace('interval: "1m"', 'interval: "1s"')
    (tmp_path / "rules.yml").write_text(rules, encoding="utf-8")
    targets = [f"127.0.0.1:{one}" for one in ports]
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": ["rules.yml"],
        "scrape_configs": [{"job_name": "rag", "static_configs": [{"targets": targets}]}],
    }
    (tmp_path / "prometheus.yml").write_text(json.dumps(config), encoding="utf-8")
    run("promtool", "check", "config", tmp_path / "prometheus.yml")
    commands: list[list[str]] = [[sys.executable, "-c", SERVED, str(one)] for one in ports]
    commands.append(
        ["prometheus", f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/data",
         f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"]
    )  # fmt: skip
    started = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for command in commands]
    yield port
    for process in started:
        process.terminate()
    for process in started:
        process.wait(timeout=20)


@needs_prometheus
def test_a_real_server_scrapes_two_exporters_adds_them_up_and_fires(server: int) -> None:
    def number(expr: str) -> float | None:
        result = asked(server, f"query?query={quote(expr)}")["result"]
        return float(result[0]["value"][1]) if result else None

    until(lambda: number('sum(up{job="rag"})') == 2)
    until(lambda: number("sum(rag_request_count_total)") == 500)
    assert number("sum(rag_coverage_sum) / sum(rag_coverage_count)") == 0.5
    assert number('sum(rag_coverage_bucket{le="0.699999"})') == 250
    (fires,) = until(lambda: [one for one in asked(server, "alerts")["alerts"] if one["state"] == "firing"])
    assert fires["labels"]["alertname"] == "RagworthyAlarm"
    assert fires["labels"]["rule"] == "anytime:coverage"
    (group,) = asked(server, "rules")["groups"]
    unhealthy = until(lambda: [one["name"] for one in group["rules"] if one["health"] == "err"] or ["none"])
    assert unhealthy == ["none"]
    for board in boards(BASELINE):  # every expression of every panel is understood
        for panel in board.panels:
            for line in panel.lines:
                asked(server, f"query?query={quote(line.expr)}")


@needs_prometheus
def test_a_real_monitor_is_scraped(tmp_path: Path) -> None:
    """A log of 300 questions through `ragworthy monitor --listen`, and what Prometheus then has of it."""
    begin = datetime(2026, 3, 2, 12, tzinfo=UTC)
    records = [
        {
            "qid": f"q{n}", "question": f"question {n}", "answer": {"citations": [{"id": "a"}], "coverage": n % 4 > 0},
            "retrieval": {"topk": [{"id": "a", "score": 1.0}], "index_hash": "h"}, "context": {"build": "b1"},
            "perf": {"e2e_ms": 10 * n}, "ts": (begin + timedelta(seconds=n)).isoformat(),
        }
        for n in range(1, 481)
    ]  # fmt: skip
    (tmp_path / "live.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    port, server_port = free_port(), free_port()
    config = {"scrape_configs": [{"job_name": "rag", "scrape_interval": "1s",
                                  "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}]}  # fmt: skip
    (tmp_path / "prometheus.yml").write_text(json.dumps(config))
    monitor = [sys.executable, "-m", "ragworthy", "monitor", "live.jsonl", "--listen", f"127.0.0.1:{port}", "-q"]
    server = ["prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data",
              f"--web.listen-address=127.0.0.1:{server_port}", "--log.level=error"]  # fmt: skip
    started = [
        subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for command in (monitor, server)
    ]
    try:
        # The last record is of second 480. One of second 420 may still come, so minute 6 is the last that is closed.
        whole = until(lambda: asked(server_port, "query?query=rag_request_count_total==360")["result"])
        assert whole[0]["metric"]["job"] == "rag"
        for expr, expected in [("rag_coverage_sum", 270), ('rag_e2e_latency_seconds_bucket{le="2.0"}', 200)]:
            (found,) = asked(server_port, f"query?query={quote(expr)}")["result"]
            assert float(found["value"][1]) == expected
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(timeout=20)


# dashboards


def same_or_more(given: Any, back: Any) -> bool:
    """Whether everything that was given came back, whatever defaults were added."""
    if isinstance(given, dict):
        return isinstance(back, dict) and all(
            key in back and same_or_more(one, back[key]) for key, one in given.items()
        )
    if isinstance(given, list):
        return len(given) == len(back) and all(same_or_more(*pair) for pair in zip(given, back, strict=True))
    return bool(given == back)


@pytest.mark.parametrize("board", boards(BASELINE), ids=lambda board: board.name)
def test_grafanas_own_library_reads_each_dashboard_and_loses_nothing(board: Any) -> None:
    from grafana_foundation_sdk.cog import plugins
    from grafana_foundation_sdk.cog.encoder import JSONEncoder
    from grafana_foundation_sdk.models.dashboard import Dashboard

    plugins.register_default_plugins()
    made = json.loads(json.dumps(dashboard(board)))
    back = json.loads(JSONEncoder(sort_keys=True).encode(Dashboard.from_json(json.loads(json.dumps(made)))))
    assert same_or_more(made, back)
    assert len({panel["id"] for panel in made["panels"]}) == len(made["panels"])


def test_alerts_of_the_monitor_show_until_they_end() -> None:
    exporter = Exporter()
    alert = Alert("cusum:error", 9, "firing", Fraction(1), Fraction(0), ">", 5, 5, "docs/alarms.md", slice="region=eu")
    exporter.alert(fields(alert))
    name = f'{series.FIRING}{{rule="cusum:error",slice="region=eu"}}'
    assert values(exporter.text())[name] == 1
    exporter.alert(fields(alert._replace(state="resolved")))
    assert values(exporter.text())[name] == 0


def test_what_was_refused_is_a_counter_by_kind() -> None:
    text = Exporter(problems=lambda: {"late": 3, "unreadable": 1}).text().decode()
    assert 'rag_records_refused_total{kind="late"} 3.0' in text
    assert 'rag_records_refused_total{kind="untimed"} 0.0' in text
