"""Clients of threads of a platform: the runs that they start there, and what each of them has in the end."""
