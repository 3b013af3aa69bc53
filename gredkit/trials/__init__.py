"""A trial as plain data: what it is, its state, and its folder on disk."""
