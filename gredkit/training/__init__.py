"""Training one model on one task."""
