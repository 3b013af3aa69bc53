"""Hints for misspelt names."""

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str:
    """`did you mean …?` with the most similar known names, or `choose from …` with all of them."""
    known = sorted(known)
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    return f"did you mean {' or '.join(map(repr, near))}?" if near else f"choose from {', '.join(known) or 'nothing'}"
