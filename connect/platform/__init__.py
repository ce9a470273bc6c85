"""LangGraph servers, reached by `langgraph_sdk` and HTTP: threads, the streams of their runs, and how these ended.

`backend` has the verbs (`submit`, `connect`, `watch`, `watch_assistant`, `threads`); the room `join` brings a reader to
a run, and keeps it there; `thread` has the requests about one thread, `http` and `calls` make them.
"""
