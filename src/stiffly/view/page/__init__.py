"""What the browser shows: everything that knows viser."""
