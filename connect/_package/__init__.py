"""AG-UI for LangGraph: `langgraph_agui.translator` turns what a run streams into AG-UI events, and
`langgraph_agui.connect` connects threads and serves graphs. Here: the version of both, and nothing else."""

from importlib.metadata import version

__version__: str = version("langgraph-agui")
"""The version of the installed distribution."""
