"""Tracks the messages, the state and the open items of an AG-UI client, and makes the events that bring another client
up to date.

This package may import `jsonable`, `wire`, `parts`, `content` and `convert`.
"""
