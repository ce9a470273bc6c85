"""Compiled graphs in this process: their runs, which outlive their readers, who runs on a thread, and what a thread's
checkpoints have."""
