"""One report model, several ways to show it."""
