"""Translates the subagents, steps, interrupts, custom events and errors of a run, and its ending. Messages and state
are translated elsewhere.

This package may import any package below it. It does not import `messages` or `checkpoint`, and they do not import it;
only `procedures.py` calls all three.
"""
