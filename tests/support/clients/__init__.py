"""Clients of servers and of threads, the real ones first, and what each of them has in the end."""
