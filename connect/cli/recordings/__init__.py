"""Implements the commands `record`, which writes a run to a file, and `replay`, which serves the file. The format of
the file is defined in `connect.testing.recording`."""
