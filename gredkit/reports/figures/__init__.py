"""Figures of a report: one class per file, each registered under the name of the file that it writes.

Nothing is imported here: matplotlib is loaded when figures are drawn.
"""
