"""Gin and nothing but gin: files and bindings in, plain data out."""
