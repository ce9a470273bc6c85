"""What the command line names, opened: graphs as LangGraph's own tools find them, where their threads are kept, and
the assistants of a server."""
