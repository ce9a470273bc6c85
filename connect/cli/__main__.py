"""Runs the command `langgraph-agui` as `python -m langgraph_agui.connect.cli`."""

from . import main

main()
