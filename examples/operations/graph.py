"""The graph that is served. Put your own in its place."""

from typing import Any

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph


def answer(state: MessagesState) -> dict[str, Any]:
    """Repeats what the user wrote."""
    return {"messages": [AIMessage(f"You wrote: {state['messages'][-1].text}")]}


graph = StateGraph(MessagesState).add_node(answer).add_edge(START, "answer").compile()
