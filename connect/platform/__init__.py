"""LangGraph servers, reached by `langgraph_sdk` and HTTP: threads, the streams of their runs, and how these ended."""
