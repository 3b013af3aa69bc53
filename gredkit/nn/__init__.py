"""Neural networks: aggregators, sequence encoders, positional and feature encoders, the GRED layer, models."""
