"""Translates messages while they stream. The modules find the model call that a chunk belongs to, decide whether the
chunk is visible, and make the events for its content blocks.

This package may import any package below it. The packages `messages`, `run` and `checkpoint` do not import each other;
`procedures.py` calls all three.
"""
