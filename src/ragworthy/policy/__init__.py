"""The committed rules: which suites run on what, and which gates hold."""
