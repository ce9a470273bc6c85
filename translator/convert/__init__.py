"""Converts LangChain messages to AG-UI messages and back, and AG-UI messages to events.

Imports `jsonable`, `wire`, `parts` and `content`.
"""
