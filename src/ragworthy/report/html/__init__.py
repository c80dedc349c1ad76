"""The report as one HTML page: it works from disk, asks the network for nothing, and is the same bytes every time."""
