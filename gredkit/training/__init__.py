"""Training one model on one task: settings, training loop, checkpoints and evaluation."""
