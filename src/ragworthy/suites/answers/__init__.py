"""The answers suite: precision, citations, refusals, constraints, recall."""
