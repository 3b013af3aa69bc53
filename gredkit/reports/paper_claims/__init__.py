"""Ten claims of the paper, judged by the project's own statistics."""
