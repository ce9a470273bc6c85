"""Turns AG-UI events into updates of the Agent Client Protocol, and handles the contents of prompts, forms and
questions. This is the pure half: it does no I/O, uses no clock, does not import the protocol's SDK, and does not know
when a prompt begins or ends."""
