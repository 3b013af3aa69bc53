"""Networks: aggregators, sequence encoders, positional encodings, the GRED layer and the model."""
