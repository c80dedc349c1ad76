"""The command line. `main` parses; each command lives in a module that is imported when it runs."""
