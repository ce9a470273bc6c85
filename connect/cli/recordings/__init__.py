"""The commands `record`, which writes a run to a file, and `replay`, which serves one. The format of the file is
`connect.testing.recording`'s."""
