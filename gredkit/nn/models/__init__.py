"""Models: one class per file, each registered under a short name."""
