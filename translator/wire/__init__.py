"""AG-UI events as they are sent: constructors, the forms older clients read, SSE.

Imports `jsonable` only.
"""
