"""What a run begins with that a client starts which lacks messages of its thread."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage
from langgraph_agui.connect.idle import with_thread
from langgraph_agui.connect.run_outcome import RunOutcome
from langgraph_agui.translator import ClientView, Finished, Options


@given(
    thread=st.lists(st.sampled_from("ABCDEF"), unique=True),
    client=st.lists(st.sampled_from("ABCDEFuvw"), unique=True),
)
def test_a_view_with_its_thread_has_both_in_their_order_and_new_messages_last(
    thread: list[str], client: list[str]
) -> None:
    def shown(message_id: str) -> dict[str, Any]:
        return {"id": message_id, "role": "user", "content": f"text of {message_id}"}

    values = {"messages": [HumanMessage(f"text of {each}", id=each) for each in thread]}
    view = ClientView([shown(each) for each in client], {"kept": True}, "1.0")
    merged = with_thread(view, "t", RunOutcome("r", values, Finished()), Options())
    ids = [message["id"] for message in merged.messages]
    shared = [each for each in client if each in thread]
    assert sorted(ids) == sorted({*thread, *client})
    assert [each for each in ids if each in thread] == thread
    assert merged.state == {"kept": True}
    new = client[client.index(shared[-1]) + 1 :] if shared else client
    assert ids[len(ids) - len(new) :] == new
    for message_id in client:
        if message_id not in thread and message_id not in new:
            before = [each for each in client[: client.index(message_id)] if each in thread]
            assert set(ids[: ids.index(message_id)]) >= set(before[-1:])
