"""`python -m langgraph_agui.connect.cli` is the command `langgraph-agui`."""

from . import main

main()
