"""Translates stored messages and state channels. They come from `values` parts, and from checkpoints that are read
during the stream. The handlers compare them with the client's messages and state, and emit the differences.

This package may import any package below it. The packages `messages`, `run` and `checkpoint` do not import each other;
`procedures.py` calls all three.
"""
