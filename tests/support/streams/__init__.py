"""Runs of graphs and what a translator makes of them, in forms that a test can compare."""
