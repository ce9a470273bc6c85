"""Checks a request before it is answered: its host, its user and its body."""
