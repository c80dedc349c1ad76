"""Experiments: the same questions in many variations, or under several configurations and loads."""
