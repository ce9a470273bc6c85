"""LangGraph servers, reached by `langgraph_sdk` and HTTP: threads, the streams of their runs, and how these ended.

`backend` has the operations (`submit`, `connect`, `watch`, `watch_assistant`, `threads`). The folder `join` attaches a
reader to a run, and keeps it there. `thread` has the requests about one thread, and `http` and `calls` make them.
"""
