"""Reads from the checkpointer of a compiled graph: the state and the history of a thread, how its last run ended, and
to whom it belongs. Nothing is written here."""
