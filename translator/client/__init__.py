"""What an AG-UI client does with events, and what another client needs to catch up with it.

May import `jsonable`, `wire`, `parts`, `content` and `convert`.
"""
