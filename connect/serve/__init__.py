"""The graphs of this process, or of a platform, behind AG-UI's HTTP: the one folder that imports Starlette."""
