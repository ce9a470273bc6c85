"""Reads the parts of a LangGraph stream in any shape, and turns each of them into a `Part`. Also reads channels, and
the fields of messages.

This package may import `jsonable` and `wire`.
"""
