"""Joining a run of a platform: the events of its stream, each once, whatever happens to connections, and how a reader
is brought from what it has to where the run is."""
