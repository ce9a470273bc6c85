"""Implements the command `check`, which tests whether an AG-UI server follows the convention in `docs/connect.md`.

`rules` contains the rules, each of which makes its own runs and connections. `server` makes the requests, `results`
describes the outcome of a rule, and `command` prints it. What makes a stream valid is decided in `connect.testing`. The
command knows nothing about the server except its URL.
"""
