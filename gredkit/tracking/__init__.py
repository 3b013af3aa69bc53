"""Everything that speaks to MLflow: the store, its runs, what is sent and what is read back."""
