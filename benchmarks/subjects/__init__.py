"""What `make bench` measures, a module for each subject: `measured` gives its table."""
