"""The content blocks of a LangChain message: text, tool calls, reasoning, media, citations, provider-run tools.

May import `jsonable`, `wire` and `parts`.
"""
