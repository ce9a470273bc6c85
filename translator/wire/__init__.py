"""AG-UI events as they are sent: constructors, derived ids, frame limits, the forms older clients read, SSE.

Imports `jsonable` only.
"""
