"""The command `check`: whether an AG-UI server keeps the convention of `docs/connect.md`.

`rules` has each rule, as runs and connections of its own; `server` makes the requests, `results` says what came of a
rule, `command` prints it. Never here: what makes a stream valid (`connect.testing`). The server is known by its URL
alone.
"""
