"""Converts LangChain messages to AG-UI messages and back, and AG-UI messages to events.

This package may import `jsonable`, `wire`, `parts` and `content`.
"""
