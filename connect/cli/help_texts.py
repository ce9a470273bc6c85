"""Contains the text that `--help` prints for each command: what the command does, and examples. The help of each option
is next to the option, in `commands`."""

SERVE = """Serves graphs over AG-UI, to CopilotKit's React client and to any other AG-UI client.

TARGET is a graph (my_app:graph, ./agent.py:graph or name=./agent.py:graph), and several graphs may be given. It may
also be the URL of a server (LangGraph Platform, langgraph dev or Aegra); then all of its assistants are served. Without
a TARGET, the command serves the graphs in ./langgraph.json.
"""
SERVE_EXAMPLES = """\b
Examples:
  langgraph-agui serve
  langgraph-agui serve ./agent.py:graph --sqlite threads.db --origin http://localhost:5173
  langgraph-agui serve planner=my_app:plan writer=my_app:write --port 9000
  langgraph-agui serve my_app:graph --sqlite threads.db --workers 4
  langgraph-agui serve https://my-deployment.langgraph.app
"""
WATCH = """Prints a thread, and then every run that anyone starts on it, such as a user or a cron job.

SOURCE is the URL of a LangGraph server or of `langgraph-agui serve`, or a graph (my_app:graph or ./agent.py:graph) that
keeps its threads in a SQLite file or has its own checkpointer. THREAD is the id of the thread. Press Ctrl-C to stop.
"""
WATCH_EXAMPLES = """\b
Examples:
  langgraph-agui watch http://localhost:2024 5d1b0a3e-...
  langgraph-agui watch http://localhost:2024 --assistant daily_report
  langgraph-agui watch http://localhost:8000 my-thread --agent planner
  langgraph-agui watch ./agent.py:graph my-thread --sqlite threads.db --hide steps
  langgraph-agui watch http://localhost:2024 5d1b0a3e-... --json | jq .type
"""
CHECK = """Checks an AG-UI server: whether its streams are valid, and whether clients can connect to, watch and stop its
threads as docs/connect.md describes.

URL is the address to which an AG-UI client posts its runs. With --agent, or if the server has a single agent, it may be
the address of the server. The check starts about fifteen runs on new threads, and each run calls the agent's model.
"""
CHECK_EXAMPLES = """\b
Examples:
  langgraph-agui check http://127.0.0.1:8000
  langgraph-agui check http://127.0.0.1:8000 --agent planner
  langgraph-agui check http://127.0.0.1:8000/planner --message "Plan me a day in Lisbon." --rule dropped
  langgraph-agui check http://127.0.0.1:8000/planner --report report.html --report junit.xml
  langgraph-agui check https://example.com/agent --header "Authorization: Bearer ..." --json
"""

ACP = """Connects a graph to an editor (Zed, JetBrains, Neovim or Emacs) as an agent, over the Agent Client Protocol.

TARGET is a graph (my_app:graph or ./agent.py:graph), an AcpAgent, a function that makes a graph for a session, or the
URL of a server. Without a TARGET, the command uses the graph in ./langgraph.json. The editor starts this command, which
communicates over standard input and output, and logs to standard error.
"""
ACP_EXAMPLES = """\b
Examples:
  langgraph-agui acp my_app:graph
  langgraph-agui acp ./agent.py:graph --sqlite ~/.my-agent.db
  langgraph-agui acp https://my-deployment.langgraph.app --assistant agent
"""

RECORD = """Records one run to a file: the parts that LangGraph streams, the events they become, and their ids.

TARGET is a graph (my_app:graph or ./agent.py:graph), which is run here, or the URL of a server. On a server, the
command starts a run, or records an existing run of --thread. Without a TARGET, it runs the graph in ./langgraph.json.
The file contains everything that the run streamed, so read it before you share it.

With --html, the command writes a page that plays the run in any browser, without a server. It contains the messages,
and what --include names.
"""
RECORD_EXAMPLES = """\b
Examples:
  langgraph-agui record --message "Plan my day." --output fault.jsonl
  langgraph-agui record ./agent.py:graph --input '{"topic": "cats"}' --output tests/runs/cats.jsonl
  langgraph-agui record ./agent.py:graph --message hi --html run.html --include state --include tools
  langgraph-agui record http://localhost:2024 --assistant agent --message hi
  langgraph-agui record http://localhost:2024 --thread 5d1b0a3e-... --run 1f0c...
"""
REPLAY = """Serves a recording to any AG-UI client, as if the run were happening now.

FILE is a file that `langgraph-agui record` wrote, that the inspector saved, or that has lines of `watch --json`.
Whatever run a client starts, it receives the recorded run. A client may also connect to the recorded thread. Press
Ctrl-C to stop.
"""
REPLAY_EXAMPLES = """\b
Examples:
  langgraph-agui replay fault.jsonl
  langgraph-agui replay fault.jsonl --speed 4 --origin http://localhost:5173
  langgraph-agui replay fault.jsonl --instant --port 9000
"""
