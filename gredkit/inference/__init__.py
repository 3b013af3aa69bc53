"""Trained models: stored, loaded and used on new graphs."""
