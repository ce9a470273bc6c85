"""Random event streams that an AG-UI client accepts, as hypothesis strategies.

Here: `streams()`, one run or several, odd but legal: ids reused over kinds, snapshots at any moment, patches that fail.
Never here: anything of ours that is tested.

Who says something is fixed by its id (an id ending in `s` belongs to subagent `s`), since a client refuses an id that
changes hands.
"""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from tests.support.random.event_values import (
    ACTIVITY_IDS,
    CALL_IDS,
    REASONING_IDS,
    ROLES,
    STEP_NAMES,
    TEXT_IDS,
    json_values,
    messages,
    metadata,
    operations,
    tag,
    texts,
)

Event = dict[str, Any]


class Grammar:
    """What may come next in a stream, and what came."""

    def __init__(self, draw: st.DrawFn, *, tame: bool) -> None:
        self.draw = draw
        self.tame = tame
        self.events: list[Event] = []
        self.runs = 0
        self.results = 0
        self.texts: list[str] = []
        self.calls: list[str] = []
        self.spans: list[str] = []
        self.reasonings: list[str] = []
        self.steps: list[tuple[str | None, str]] = []
        self.subagents: list[str] = []
        self.subagents_used: list[str] = []

    def emit(self, kind: str, **fields: Any) -> None:
        self.events.append({"type": kind, **fields})

    def marked(self) -> Event:
        return {"metadata": self.draw(metadata)} if self.draw(st.integers(0, 3)) == 0 else {}

    # --- runs -----------------------------------------------------------------------------------------------------

    def start_run(self) -> None:
        self.runs += 1
        self.subagents_used.clear()
        given = {}
        if not self.tame and self.draw(st.integers(0, 3)) == 0:
            given = {"input": {"threadId": "t", "runId": "i", "messages": self.draw(messages()), "tools": [],
                               "context": [], "state": {}, "forwardedProps": {}}}  # fmt: skip
        self.emit("RUN_STARTED", threadId="t", runId=f"run-{self.runs}", **given)

    def end_run(self) -> None:
        self.close_all()
        ending = self.draw(st.sampled_from(["finished", "finished", "interrupt", "error"]))
        if ending == "error":
            self.emit("RUN_ERROR", message="no")
            return
        outcome = {}
        if ending == "interrupt":
            outcome = {"outcome": {"type": "interrupt", "interrupts": [{"id": "i1", "reason": "ask"}]}}
        self.emit("RUN_FINISHED", threadId="t", runId=f"run-{self.runs}", **outcome)

    def close_all(self) -> None:
        while self.texts:
            self.end_text()
        while self.calls:
            self.end_call()
        while self.reasonings:
            self.end_reasoning()
        while self.spans:
            self.end_span()
        while self.steps:
            self.end_step()
        while self.subagents:
            self.end_subagent()

    # --- what opens and closes ------------------------------------------------------------------------------------

    def text(self) -> None:
        name = self.draw(st.sampled_from([n for n in TEXT_IDS if not self.tame or n.startswith("m")]))
        if name in self.texts:
            self.emit("TEXT_MESSAGE_CONTENT", messageId=name, delta=self.draw(texts), **tag(name), **self.marked())
            return
        role = self.draw(st.sampled_from([*ROLES[:1], *ROLES]))
        named = self.draw(st.sampled_from([{}, {"name": "n"}]))
        self.texts.append(name)
        self.emit("TEXT_MESSAGE_START", messageId=name, role=role, **named, **tag(name), **self.marked())

    def end_text(self) -> None:
        name = self.texts.pop(self.draw(st.integers(0, len(self.texts) - 1)))
        self.emit("TEXT_MESSAGE_END", messageId=name, **tag(name), **self.marked())

    def call(self) -> None:
        name = self.draw(st.sampled_from(CALL_IDS))
        if name in self.calls:
            self.emit("TOOL_CALL_ARGS", toolCallId=name, delta=self.draw(texts), **tag(name), **self.marked())
            return
        parents = [None, *(n for n in TEXT_IDS if tag(n) == tag(name) and (not self.tame or n.startswith("m")))]
        parent = self.draw(st.sampled_from(parents))
        under = {} if parent is None else {"parentMessageId": parent}
        called = "f" if self.tame else self.draw(st.sampled_from(["f", "f", "g"]))
        self.calls.append(name)
        self.emit("TOOL_CALL_START", toolCallId=name, toolCallName=called, **under, **tag(name), **self.marked())

    def end_call(self) -> None:
        name = self.calls.pop(self.draw(st.integers(0, len(self.calls) - 1)))
        self.emit("TOOL_CALL_END", toolCallId=name, **tag(name), **self.marked())

    def result(self) -> None:
        name = self.draw(st.sampled_from(CALL_IDS))
        self.results += 1
        ids = [f"t{self.results}"] if self.tame else [f"t{self.results}", "t1", "m1", "c1"]
        message_id = self.draw(st.sampled_from(ids))
        own = tag(name) if message_id.startswith("t") else {}
        self.emit(
            "TOOL_CALL_RESULT", messageId=message_id, toolCallId=name, content=self.draw(texts), **own, **self.marked()
        )

    def span(self) -> None:
        name = self.draw(st.sampled_from([n for n in REASONING_IDS if not self.tame or n.startswith("r")]))
        if name not in self.spans:
            self.spans.append(name)
            self.emit("REASONING_START", messageId=name, **tag(name))

    def end_span(self) -> None:
        name = self.spans.pop(self.draw(st.integers(0, len(self.spans) - 1)))
        self.emit("REASONING_END", messageId=name, **tag(name))

    def reasoning(self) -> None:
        name = self.draw(st.sampled_from([n for n in REASONING_IDS if not self.tame or n.startswith("r")]))
        if name in self.reasonings:
            self.emit("REASONING_MESSAGE_CONTENT", messageId=name, delta=self.draw(texts), **tag(name),
                      **self.marked())  # fmt: skip
            return
        self.reasonings.append(name)
        self.emit("REASONING_MESSAGE_START", messageId=name, role="reasoning", **tag(name), **self.marked())

    def end_reasoning(self) -> None:
        name = self.reasonings.pop(self.draw(st.integers(0, len(self.reasonings) - 1)))
        self.emit("REASONING_MESSAGE_END", messageId=name, **tag(name), **self.marked())

    def encrypted(self) -> None:
        subtype = self.draw(st.sampled_from(["message", "tool-call"]))
        entity = self.draw(st.sampled_from([*REASONING_IDS, *ACTIVITY_IDS] if subtype == "message" else CALL_IDS))
        self.emit("REASONING_ENCRYPTED_VALUE", subtype=subtype, entityId=entity, encryptedValue="secret")

    def step(self) -> None:
        owner, name = self.draw(st.sampled_from([None, "s"])), self.draw(st.sampled_from(STEP_NAMES))
        if (owner, name) not in self.steps:
            self.steps.append((owner, name))
            self.emit("STEP_STARTED", stepName=name, **({"subagentRunId": owner} if owner else {}))

    def end_step(self) -> None:
        owner, name = self.steps.pop(self.draw(st.integers(0, len(self.steps) - 1)))
        self.emit("STEP_FINISHED", stepName=name, **({"subagentRunId": owner} if owner else {}))

    def subagent(self) -> None:
        name = self.draw(st.sampled_from(["s", "s2", "s3"]))
        if name in self.subagents_used:
            return
        parents: list[str | None] = [None, *self.subagents_used]
        parent = self.draw(st.sampled_from(parents))
        self.subagents.append(name)
        self.subagents_used.append(name)
        under = {} if parent is None else {"parentSubagentRunId": parent}
        self.emit("SUBAGENT_STARTED", subagentRunId=name, name="helper", **under)

    def end_subagent(self) -> None:
        name = self.subagents.pop(self.draw(st.integers(0, len(self.subagents) - 1)))
        if self.draw(st.booleans()):
            self.emit("SUBAGENT_FINISHED", subagentRunId=name, result={"n": 1})
        else:
            self.emit("SUBAGENT_ERROR", subagentRunId=name, message="no")

    # --- what stands alone ----------------------------------------------------------------------------------------

    def activity(self) -> None:
        name = self.draw(st.sampled_from([n for n in ACTIVITY_IDS if not self.tame or n.startswith("a")]))
        kind = self.draw(st.sampled_from(["media", "plan"]))
        if self.draw(st.booleans()):
            replace = self.draw(st.sampled_from([{}, {"replace": True}, {"replace": False}]))
            content = {"a": self.draw(json_values)}
            self.emit("ACTIVITY_SNAPSHOT", messageId=name, activityType=kind, content=content, **replace, **tag(name),
                      **self.marked())  # fmt: skip
        else:
            patch = self.draw(operations())
            if self.tame and not all(operation["path"] for operation in patch):
                return  # no snapshot may hold what that can leave of an activity
            self.emit("ACTIVITY_DELTA", messageId=name, activityType=kind, patch=patch, **tag(name), **self.marked())

    def state(self) -> None:
        if self.draw(st.integers(0, 2)) == 0:
            objects = st.dictionaries(st.sampled_from(["a", "b"]), json_values)
            snapshot = objects if self.tame else st.one_of(objects, st.lists(json_values, max_size=2))
            self.emit("STATE_SNAPSHOT", snapshot=self.draw(snapshot))
        else:
            self.emit("STATE_DELTA", delta=self.draw(operations()))

    def messages_snapshot(self) -> None:
        declared = {}
        if self.draw(st.integers(0, 2)) == 0:
            types = self.draw(st.sampled_from([None, [], ["media"], "odd"]))
            scope = self.draw(st.sampled_from([{}, "odd", {"authoritativeActivityTypes": types}]))
            declared = {"metadata": {"@ag-ui/client": scope}}
        self.emit("MESSAGES_SNAPSHOT", messages=self.draw(messages(repeat=True)), **declared)

    def beside(self) -> None:
        self.emit("CUSTOM", name="n", value={"v": 1})

    def moves(self) -> list[Callable[[], None]]:
        """What may come next; closing only what is open."""
        moves = [self.text, self.text, self.text, self.call, self.call, self.call, self.result, self.span,
                 self.reasoning, self.reasoning, self.encrypted, self.step, self.subagent, self.activity, self.state,
                 self.beside]  # fmt: skip
        if not self.tame:
            moves.append(self.messages_snapshot)
        closing = [
            (self.texts, self.end_text),
            (self.calls, self.end_call),
            (self.spans, self.end_span),
            (self.reasonings, self.end_reasoning),
            (self.steps, self.end_step),
            (self.subagents, self.end_subagent),
        ]
        return moves + [move for opened, move in closing if opened]


@st.composite
def streams(draw: st.DrawFn, *, tame: bool = False, runs: int = 2, length: int = 25) -> list[Event]:
    """Streams of up to `runs` runs that a client accepts without an error.

    `tame` leaves out what makes two clients that joined at different times differ, however well each is told: ids
    that stand for two messages, and messages snapshots in the middle.
    """
    grammar = Grammar(draw, tame=tame)
    for _ in range(draw(st.integers(1, runs))):
        grammar.start_run()
        for _ in range(draw(st.integers(0, length))):
            draw(st.sampled_from(grammar.moves()))()
        grammar.end_run()
    return grammar.events
