"""A user's own graphs: tables, SMILES and PyG data, read and checked."""
