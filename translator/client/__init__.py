"""What an AG-UI client has after the events it got, and what brings another client to the same point.

May import `jsonable`, `wire`, `parts`, `content` and `convert`.
"""
