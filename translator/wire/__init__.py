"""AG-UI events as they are sent: constructors, derived ids, frame limits, what older clients get, SSE.

Imports `jsonable` only.
"""
