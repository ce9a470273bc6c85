"""Sends event streams as responses, and ends all of them with the server."""
