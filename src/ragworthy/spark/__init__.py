"""Spark hands out the blocks: executors read the traces, each its share, by the same code as one process does.

The driver opens everything but the traces, and sends what a suite does with a part of them (`Pass.work`) to the
executors. What they give back are parts, as `score … --shard I/N` writes them, and they are merged in the same way.
"""
