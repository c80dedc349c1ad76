"""How the tables of a store came to be, step by step. Each step is one transaction, and none is ever changed."""

from sqlalchemy import Connection, inspect, select, text

from ragworthy.history.tables import SCHEMA

_FIRST = """
CREATE TABLE ragworthy_schema (version BIGINT NOT NULL PRIMARY KEY, at TEXT NOT NULL);
CREATE TABLE ragworthy_ledger (
    number BIGINT NOT NULL PRIMARY KEY, kind TEXT NOT NULL, body TEXT NOT NULL,
    previous TEXT NOT NULL, hash TEXT NOT NULL UNIQUE);
CREATE TABLE ragworthy_runs (
    id TEXT NOT NULL PRIMARY KEY, number BIGINT NOT NULL UNIQUE, created_at TEXT NOT NULL, verdict TEXT NOT NULL,
    suites TEXT NOT NULL, gold_sha256 TEXT NOT NULL, policy_sha256 TEXT, commit_id TEXT NOT NULL, index_hash TEXT,
    report_sha256 TEXT NOT NULL);
CREATE TABLE ragworthy_summaries (
    run TEXT NOT NULL REFERENCES ragworthy_runs (id) ON DELETE CASCADE,
    suite TEXT NOT NULL, metric TEXT NOT NULL, slice TEXT NOT NULL,
    num BIGINT, den BIGINT, value DOUBLE PRECISION, exact TEXT, low DOUBLE PRECISION, high DOUBLE PRECISION,
    PRIMARY KEY (run, suite, metric, slice));
CREATE TABLE ragworthy_rows (
    run TEXT NOT NULL REFERENCES ragworthy_runs (id) ON DELETE CASCADE,
    suite TEXT NOT NULL, sha256 TEXT NOT NULL, body {bytes} NOT NULL, PRIMARY KEY (run, suite));
CREATE TABLE ragworthy_reports (
    run TEXT NOT NULL PRIMARY KEY REFERENCES ragworthy_runs (id) ON DELETE CASCADE, body {bytes} NOT NULL);
CREATE TABLE ragworthy_receipts (
    run TEXT NOT NULL PRIMARY KEY REFERENCES ragworthy_runs (id) ON DELETE CASCADE,
    sha256 TEXT NOT NULL, body {bytes} NOT NULL);
CREATE TABLE ragworthy_attempts (
    gold_sha256 TEXT NOT NULL, commit_id TEXT NOT NULL, number BIGINT NOT NULL, run TEXT NOT NULL,
    report_sha256 TEXT NOT NULL, verdict TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL,
    PRIMARY KEY (gold_sha256, commit_id, number));
CREATE TABLE ragworthy_baselines (
    number BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL, run TEXT NOT NULL REFERENCES ragworthy_runs (id),
    blessed_by TEXT NOT NULL, reason TEXT NOT NULL, at TEXT NOT NULL, previous TEXT);
"""
_SECOND = """
ALTER TABLE ragworthy_runs ADD COLUMN gold_label TEXT;
ALTER TABLE ragworthy_baselines ADD COLUMN runs TEXT NOT NULL DEFAULT '[]';
ALTER TABLE ragworthy_baselines ADD COLUMN flips TEXT NOT NULL DEFAULT '{{}}';
CREATE TABLE ragworthy_signatures (
    number BIGINT NOT NULL, nth BIGINT NOT NULL,
    run TEXT NOT NULL REFERENCES ragworthy_runs (id) ON DELETE CASCADE,
    what TEXT NOT NULL, signed_by TEXT NOT NULL, reason TEXT NOT NULL, at TEXT NOT NULL,
    PRIMARY KEY (number, nth));
CREATE INDEX ragworthy_runs_by_time ON ragworthy_runs (created_at, number);
"""
STEPS = (_FIRST, _SECOND)
"""
1  runs, summaries, rows, reports, receipts, attempts, baselines, and the ledger
2  labels of gold sets, what blessings rest on, signatures
"""
VERSION = len(STEPS)


def version_of(connection: Connection) -> int:
    """The schema that a database has; 0 for one without."""
    if not inspect(connection).has_table(SCHEMA.name):
        return 0
    return max(connection.scalars(select(SCHEMA.c.version)), default=0)


def step(connection: Connection, version: int, now: str) -> None:
    """Go from the version before this one to this one, in the transaction that is open."""
    kind = "BYTEA" if connection.dialect.name == "postgresql" else "BLOB"
    for statement in STEPS[version - 1].format(bytes=kind).split(";"):
        if statement.strip():
            connection.execute(text(statement))
    connection.execute(SCHEMA.insert().values(version=version, at=now))
