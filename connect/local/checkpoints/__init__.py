"""What the checkpointer of a compiled graph says of a thread: its state and history, how its last run ended, whom it
belongs to. Nothing is written here."""
