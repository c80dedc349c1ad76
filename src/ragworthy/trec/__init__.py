"""TREC files: judgements, runs, and the rank metrics of trec_eval."""
