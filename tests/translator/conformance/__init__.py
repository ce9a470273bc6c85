"""Every stream is accepted by the real clients, which end with what the checkpoint has; however the stream was made."""
