"""The pure half of langgraph-agui: parts in, AG-UI events out; no I/O, clock or randomness."""
