"""Figures of a study, one a file: frames in, a matplotlib Figure out. `of_study` chooses those that a study deserves.

Nothing is imported here, so that who only prints a table does not wait for matplotlib.
"""
