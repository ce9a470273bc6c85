"""Platforms that tests start: `langgraph dev` and Aegra, and scripted ones on which everything can fail."""
