"""Read and check a user's own graphs: tables, SMILES and PyG data."""
