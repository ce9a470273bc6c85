"""Responses that are event streams, how one is sent, and how all of them end with the server."""
