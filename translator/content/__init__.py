"""The content blocks of a LangChain message: text, tool calls, reasoning, media, citations, provider-run tools.

Imports `jsonable`, `wire` and `parts`.
"""
