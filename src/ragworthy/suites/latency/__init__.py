"""The latency suite: latency against accuracy, per configuration and load."""
