"""What each page shows, one module a page."""
