"""Everything that talks to MLflow: the store, its runs, sending and reading back."""
