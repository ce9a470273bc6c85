"""Translates messages while they are streaming. For each chunk, these modules find the model call that the chunk
belongs to, decide whether the chunk is visible, and make the events for its content blocks.

This package may import any package below it. The packages `messages`, `run` and `checkpoint` do not import each other;
`procedures.py` calls all three.
"""
