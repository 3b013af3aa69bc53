"""The hop index: searched, kept in the cache, and read back."""
