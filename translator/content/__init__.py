"""Reads the content of LangChain messages: text, tool calls, reasoning, media, citations, and the calls and results of
tools that the provider runs.

This package may import `jsonable`, `wire` and `parts`.
"""
