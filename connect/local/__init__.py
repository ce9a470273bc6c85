"""Compiled graphs in this process: their threads, the checkpoints of those threads, and their runs, which outlive the
readers.

`backend` has the operations (`submit`, `connect`, `watch`, `threads`). They use the subpackages `store`, `checkpoints`,
`index` and `run`. Each of these may import only those before it, and none of them imports an operation.
"""
