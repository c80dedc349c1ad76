"""The gold set's own quality: lint, freeze, differences. Pure; `commands` reads and writes."""
