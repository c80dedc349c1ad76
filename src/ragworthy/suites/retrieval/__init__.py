"""The retrieval suite: ranks, coverage, citations by byte, distances, convergence, shadow against live."""
