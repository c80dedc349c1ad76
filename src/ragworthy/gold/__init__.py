"""The gold set's own quality: lint, freeze, differences. Pure; `goldcare` reads and writes."""
