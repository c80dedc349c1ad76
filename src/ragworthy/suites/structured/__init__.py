"""The structured suite: JSON answers against expected fields."""
