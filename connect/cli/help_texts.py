"""What `--help` says of each command: what it does, and examples. The help of an option is with the option, in
`commands`."""

SERVE = """Puts graphs behind AG-UI: CopilotKit's React client and any other AG-UI client talk to them.

TARGET is a graph (my_app:graph, ./agent.py:graph, name=./agent.py:graph; several may be given), or the URL of a
server (LangGraph Platform, langgraph dev, Aegra), all of whose assistants are served. Without one, the graphs of
./langgraph.json are.
"""
SERVE_EXAMPLES = """\b
Examples:
  langgraph-agui serve
  langgraph-agui serve ./agent.py:graph --sqlite threads.db --origin http://localhost:5173
  langgraph-agui serve planner=my_app:plan writer=my_app:write --port 9000
  langgraph-agui serve my_app:graph --sqlite threads.db --workers 4
  langgraph-agui serve https://my-deployment.langgraph.app
"""
WATCH = """Prints a thread, and every run of it from then on, by any user or cron.

SOURCE is the URL of a server, or a graph (my_app:graph, ./agent.py:graph) whose threads are in a SQLite file or with
its own checkpointer. Ends with Ctrl-C.
"""
WATCH_EXAMPLES = """\b
Examples:
  langgraph-agui watch http://localhost:2024 5d1b0a3e-...
  langgraph-agui watch http://localhost:2024 --assistant daily_report
  langgraph-agui watch ./agent.py:graph my-thread --sqlite threads.db --hide steps
  langgraph-agui watch http://localhost:2024 5d1b0a3e-... --json | jq .type
"""
CHECK = """Checks an AG-UI server: whether its streams are valid, and whether a thread can be connected to, watched and
stopped as docs/connect.md says.

URL is where an AG-UI client posts its runs; or, with --agent or a single agent, the server's. The agent makes about a
dozen runs, on new threads of its own, each of which calls its model.
"""
CHECK_EXAMPLES = """\b
Examples:
  langgraph-agui check http://127.0.0.1:8000
  langgraph-agui check http://127.0.0.1:8000 --agent planner
  langgraph-agui check http://127.0.0.1:8000/planner --message "Plan me a day in Lisbon." --rule dropped
  langgraph-agui check https://example.com/agent --header "Authorization: Bearer ..." --json
"""

ACP = """Makes a graph an agent of an editor: Zed, JetBrains, Neovim, Emacs, by the Agent Client Protocol.

TARGET is a graph (my_app:graph, ./agent.py:graph), an AcpAgent, a function of a session that makes a graph, or the URL
of a server. Without one, the graph of ./langgraph.json is. The editor starts this command; it speaks on standard input
and output, and logs on standard error.
"""
ACP_EXAMPLES = """\b
Examples:
  langgraph-agui acp my_app:graph
  langgraph-agui acp ./agent.py:graph --sqlite ~/.my-agent.db
  langgraph-agui acp https://my-deployment.langgraph.app --assistant agent
"""

RECORD = """Writes a run to a file: LangGraph's parts, the events that they become, and the ids.

TARGET is a graph (my_app:graph, ./agent.py:graph), which is run here, or the URL of a server: a run that is started
there, or one that there is, of --thread. Without TARGET the graph of ./langgraph.json is run. The file has all that the
run streamed: read it before you pass it on.
"""
RECORD_EXAMPLES = """\b
Examples:
  langgraph-agui record --message "Plan my day." --output fault.jsonl
  langgraph-agui record ./agent.py:graph --input '{"topic": "cats"}' --output tests/runs/cats.jsonl
  langgraph-agui record http://localhost:2024 --assistant agent --message hi
  langgraph-agui record http://localhost:2024 --thread 5d1b0a3e-... --run 1f0c...
"""
REPLAY = """Serves a recording as if its run happened now, to any AG-UI client.

FILE is what `langgraph-agui record` has written. Every run that a client asks for is the recorded one; a client that
connects to the recorded thread sees it too. Ends with Ctrl-C.
"""
REPLAY_EXAMPLES = """\b
Examples:
  langgraph-agui replay fault.jsonl
  langgraph-agui replay fault.jsonl --speed 4 --origin http://localhost:5173
  langgraph-agui replay fault.jsonl --instant --port 9000
"""
