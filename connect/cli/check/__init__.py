"""Implements the command `check`, which tests whether a server follows AG-UI and the proposal in `docs/connect.md`.

`rules` contains the rules, each of which makes its own runs and connections. `server` makes the requests, `results`
describes the outcome of a rule, `command` prints it, and `reports` writes files for people and for CI. What makes a
stream valid is decided in `connect.testing`. The command knows nothing about the server except its URL.
"""
