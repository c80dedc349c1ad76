"""Documents to canonical text, section tree, typed blocks and chunk records."""
