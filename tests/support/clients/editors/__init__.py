"""Editors: a client of the Agent Client Protocol, what it displays, and the agents that tests give to it."""
