"""Metrics: small pure functions. A metric's id is its address: `answers.precision` is `precision` in `answers.py`."""
