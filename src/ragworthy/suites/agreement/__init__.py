"""The agreement suite: what two validators or more agree on."""
