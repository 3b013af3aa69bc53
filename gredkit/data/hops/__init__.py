"""The hop index: built by graph search, stored in a cache, and read back."""
