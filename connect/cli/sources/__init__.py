"""Opens what the command line names: graphs, which are found as LangGraph's own tools find them, the places where their
threads are kept, and the assistants of a server."""
