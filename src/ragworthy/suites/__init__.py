"""The suites: each a folder that says what it reads, how it is set and how records become cases."""
