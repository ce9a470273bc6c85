"""Joins a run of a platform: reads each event of its stream once, whatever happens to connections, and brings a reader
from what it has to the present state of the run."""
