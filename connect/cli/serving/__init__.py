"""The command `serve`: from its arguments to a server that runs until a signal stops it, and what it prints first."""
