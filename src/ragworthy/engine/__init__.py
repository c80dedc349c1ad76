"""Gold and traces joined, and the facts of every question established; the same bytes with any number of processes."""
