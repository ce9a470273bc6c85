"""What CopilotKit's client posts, as it was watched doing it. Never what it is answered."""

from typing import Any

JSON = {"Content-Type": "application/json"}
"""The header of every request, also of those without a body."""


def asked(thread_id: str, *said: str, run_id: str = "run-1", **more: Any) -> dict[str, Any]:
    """An input: with these fields, and no protocol version. `more`: other fields, or others' values."""
    messages = [{"id": f"{thread_id}-{place}", "role": "user", "content": text} for place, text in enumerate(said)]
    rest: dict[str, Any] = {"tools": [], "context": [], "forwardedProps": {}, "state": {}}
    return {"threadId": thread_id, "runId": run_id, "messages": messages, **rest, **more}
