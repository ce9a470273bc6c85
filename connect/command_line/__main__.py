"""`python -m langgraph_agui.connect.command_line` is the command `langgraph-agui`."""

from . import main

main()
