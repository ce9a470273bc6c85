"""CopilotKit's routes: what its client requests (`routes`), the agents as `/info` shows them (`info`), and ends of runs
after which it can continue (`endings`)."""
