"""Implements the command `serve`: makes a server from the arguments, prints where it is, and runs it until a signal
arrives."""
