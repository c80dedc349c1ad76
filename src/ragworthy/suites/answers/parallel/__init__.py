"""A million questions in seconds and in bounded memory: the files are cut into parts, each read by its own process.

A part (`shard`) turns its records into flags, one number for each question; what it gives back (`digest`) is a tally of
these numbers and a few examples. Tallies of all parts (`measure`) add up to exactly what one process finds.
"""
