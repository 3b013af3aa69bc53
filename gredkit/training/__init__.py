"""Training one model on one task: the recipe, the loop, its checkpoints, and inference."""
