"""The command `langgraph-agui`: the one folder that imports typer, rich and uvicorn."""
