"""What LangGraph streams: every shape of a stream part as one `Part`, its channels, its messages as mappings.

May import `jsonable` and `wire`.
"""
