"""The planner for a LangGraph server, which has a checkpointer of its own: `graph`. `PLANNER_GATE` is the port of the
gates of all its runs, whoever starts them. Nothing but a server imports this module.
"""

import os

from .planner import planner

graph = planner(None).with_config({"configurable": {"gate": {"port": int(os.environ["PLANNER_GATE"]), "run": ""}}})
