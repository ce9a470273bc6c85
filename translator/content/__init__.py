"""Reads the content of LangChain messages, which may be text, tool calls, reasoning, media, citations, or calls to
tools that the provider runs and their results.

This package may import `jsonable`, `wire` and `parts`.
"""
