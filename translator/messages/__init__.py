"""Messages while they stream: which model call a chunk belongs to, who may see it, and the events of its blocks.

Imports everything below it; `run` and `checkpoint` stand beside it, and only `procedures.py` calls all three.
"""
