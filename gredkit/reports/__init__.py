"""Reports: one function a file, each registered under a short name."""
