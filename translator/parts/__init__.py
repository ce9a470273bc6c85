"""What LangGraph streams: every shape of a stream part as one `Part`, its channels, its messages as mappings.

Imports `jsonable` and `wire`.
"""
