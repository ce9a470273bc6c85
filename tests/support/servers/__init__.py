"""Servers that tests start, real and scripted, and what is between them and their clients."""
