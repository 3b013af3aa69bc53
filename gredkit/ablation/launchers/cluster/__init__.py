"""Jobs of a SLURM cluster: what it says about them, and what they do."""
