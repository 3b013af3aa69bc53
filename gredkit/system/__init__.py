"""Careful handling of this machine's files, folders and output streams."""
