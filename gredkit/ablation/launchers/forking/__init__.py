"""The server that trials are forked from."""
