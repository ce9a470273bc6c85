"""Constructs AG-UI events, derives ids, keeps frames below the size limit, converts events for older clients, and
encodes events as SSE.

This package may only import `jsonable`.
"""
