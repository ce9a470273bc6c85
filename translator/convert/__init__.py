"""LangChain messages as AG-UI messages, AG-UI messages as LangChain messages, and AG-UI messages as events.

Imports `jsonable`, `wire`, `parts` and `content`.
"""
