"""Live traffic as it comes: logs and spans to minutes, alerts, and what a person looks at."""
