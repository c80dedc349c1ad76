"""What runs beside a pipeline."""
