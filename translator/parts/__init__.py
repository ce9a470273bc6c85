"""Reads the parts of a LangGraph stream, and turns each of them, whatever its shape, into a `Part`. Also reads
channels, and the fields of messages.

This package may import `jsonable` and `wire`.
"""
