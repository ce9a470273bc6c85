"""Processes that tests start, one or several that share a run store, and how they start fast: forked from one that has
imported the packages."""
