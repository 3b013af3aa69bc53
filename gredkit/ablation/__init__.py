"""A study and its trials."""
