"""What belongs to a run as a whole: subagents, steps, interrupts, custom events, errors, how it ends.

Imports everything below it; `messages` and `checkpoint` stand beside it, and only `procedures.py` calls all three.
"""
