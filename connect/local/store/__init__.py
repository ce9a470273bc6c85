"""Who runs on a thread, and what happens on it: the interface `RunStore`, the store of one process, feeds of threads,
turns of inputs, and the pollers of threads that others write to."""
