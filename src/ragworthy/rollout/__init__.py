"""A canary as a state machine: who moved it, on what evidence, and whether live traffic lets it go on."""
