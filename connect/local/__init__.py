"""Compiled graphs in this process: their runs, which outlive their readers, who runs on a thread, and what a thread's
checkpoints have.

`backend` has the verbs (`submit`, `connect`, `watch`, `threads`). They use the rooms `store`, `checkpoints` and `run`,
of which each may import those before it, and none imports a verb.
"""
