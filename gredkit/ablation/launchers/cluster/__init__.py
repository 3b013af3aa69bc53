"""Jobs of SLURM and tasks of Ray: what the cluster says about them, and what they do."""
