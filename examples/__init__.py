"""Agents to look at, and what shows them. Nothing here needs a key or a network."""
