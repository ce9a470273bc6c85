"""Contains constructors for AG-UI events, derived ids, frame limits, the events for older clients, and SSE encoding.

This package may only import `jsonable`.
"""
