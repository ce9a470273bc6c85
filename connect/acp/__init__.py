"""Graphs as agents of editors, by the Agent Client Protocol. `mapping`: the pure half, from AG-UI events to what an
editor is sent."""
