"""Translates everything in a run except its messages and state. This includes subagents, steps, interrupts, custom
events, errors and the ending.

This package may import any package below it. It does not import `messages` or `checkpoint`, and they do not import it;
only `procedures.py` calls all three.
"""
