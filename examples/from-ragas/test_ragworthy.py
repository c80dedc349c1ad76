"""The same with Ragworthy: every question through the pipeline, then one verdict by the policy in ragworthy.toml."""

from rag import ask

import ragworthy as rw


def test_ships():
    rw.run(ask, "gold.jsonl").gate("ragworthy.toml").assert_ship()
