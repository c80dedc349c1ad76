"""Live traffic: the rules that raise an alert. Nothing here reads a file or a clock."""
