"""Two runs over the same questions: whether they may be compared, what changed, and whether it is more than chance."""
