"""The tables of a store as they are now; `migrations` makes them. They hold texts, numbers and packed bytes."""

from typing import Any

from sqlalchemy import BigInteger, Column, Float, ForeignKey, LargeBinary, MetaData, Table, Text

METADATA = MetaData()


def _run(**how: Any) -> Column[str]:
    """A run of which a row is a part."""
    return Column("run", Text, ForeignKey("ragworthy_runs.id", ondelete="CASCADE"), **how)


SCHEMA = Table(
    "ragworthy_schema",
    METADATA,
    Column("version", BigInteger, primary_key=True, autoincrement=False),
    Column("at", Text, nullable=False),
)
LEDGER = Table(
    "ragworthy_ledger",
    METADATA,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("previous", Text, nullable=False),
    Column("hash", Text, nullable=False, unique=True),
)
RUNS = Table(
    "ragworthy_runs",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("number", BigInteger, nullable=False, unique=True),
    Column("created_at", Text, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("suites", Text, nullable=False),
    Column("gold_sha256", Text, nullable=False),
    Column("gold_label", Text),
    Column("policy_sha256", Text),
    Column("commit_id", Text, nullable=False),
    Column("index_hash", Text),
    Column("report_sha256", Text, nullable=False),
)
SUMMARIES = Table(
    "ragworthy_summaries",
    METADATA,
    _run(primary_key=True),
    Column("suite", Text, primary_key=True),
    Column("metric", Text, primary_key=True),
    Column("slice", Text, primary_key=True),
    Column("num", BigInteger),
    Column("den", BigInteger),
    Column("value", Float(53)),
    Column("exact", Text),
    Column("low", Float(53)),
    Column("high", Float(53)),
)
ROWS = Table(
    "ragworthy_rows",
    METADATA,
    _run(primary_key=True),
    Column("suite", Text, primary_key=True),
    Column("sha256", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
)
REPORTS = Table("ragworthy_reports", METADATA, _run(primary_key=True), Column("body", LargeBinary, nullable=False))
RECEIPTS = Table(
    "ragworthy_receipts",
    METADATA,
    _run(primary_key=True),
    Column("sha256", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
)
ATTEMPTS = Table(
    "ragworthy_attempts",
    METADATA,
    Column("gold_sha256", Text, primary_key=True),
    Column("commit_id", Text, primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("run", Text, nullable=False),  # no foreign key: an attempt stays when its run is pruned
    Column("report_sha256", Text, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("previous", Text, nullable=False),
    Column("hash", Text, nullable=False),
)
BASELINES = Table(
    "ragworthy_baselines",
    METADATA,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
    Column("run", Text, ForeignKey("ragworthy_runs.id"), nullable=False),  # no cascade: blessed runs stay
    Column("blessed_by", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("previous", Text),
    Column("runs", Text, nullable=False),
    Column("flips", Text, nullable=False),
)
SIGNATURES = Table(
    "ragworthy_signatures",
    METADATA,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("nth", BigInteger, primary_key=True, autoincrement=False),
    _run(nullable=False),
    Column("what", Text, nullable=False),
    Column("signed_by", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("at", Text, nullable=False),
)
