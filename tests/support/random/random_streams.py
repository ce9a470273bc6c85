"""Plausible LangGraph streams at random: `scenarios()`, a hypothesis strategy.

Here: a make-believe graph that runs supersteps of parallel tasks which stream, answer calls, call subgraphs and
subagents, and saves what they said, or something else. Never here: tests, or anything of the translator.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.utils import message_chunk_to_message
from langgraph.types import Interrupt
from langgraph_sdk.schema import StreamPart

from fixtures.recordings import part_of, row_of

Ns = tuple[str, ...]
Lane = list[Any]
"""The parts of one task, in order."""
WORDS = ["Hi", " there", ",", " ", "é", "\n", "{", "so"]
ARGS = ['{"a": 1}', "{}", '{"text": "long enough to be cut"}', '{"x": [1, 2], "y": null}', '{"cut": "sho']
SHAPES = ("run", "provider", "provider first", "provider late", "changing", "uuid each")
FORMS = ("local", "json", "platform")


@dataclass
class Scenario:
    """One run: what came before it, its parts, and what the checkpoint holds after."""

    before: list[BaseMessage]
    """What the thread held when the run began, the input not counted."""
    parts: list[Any]
    values: dict[str, Any]
    """The root values after the last part."""
    interrupted: bool
    repeats_ids: bool
    """An answer may have the id of an earlier one, which then goes."""
    mixes_calls: bool
    """One task makes two calls at once, in JSON: which chunk is whose may not be known before they are stored."""


def scenarios() -> st.SearchStrategy[Scenario]:
    """Runs that end well, in any of the forms a stream has; to be cut by whoever wants."""
    return st.builds(lambda random, form: Graph(random, form).run(), st.randoms(use_true_random=False), FORM)


FORM = st.sampled_from(FORMS)


@dataclass
class Graph:
    """The make-believe graph. All chance comes from `random`."""

    random: Random
    form: str
    messages: list[BaseMessage] = field(default_factory=list)
    channels: dict[str, Any] = field(default_factory=lambda: {"count": 0, "notes": []})
    parts: list[Any] = field(default_factory=list)
    made: int = 0
    numbers_anew: bool = False
    """The provider gives each answer, and its calls, the ids it gave the last one."""
    mixes_calls: bool = False
    """One task made two calls at once, and their chunks are JSON."""
    tasks: bool = False
    """The stream has the `tasks` mode."""
    counts: bool = True
    """Nodes that save no message write another channel."""

    def run(self) -> Scenario:
        """One run of up to three supersteps."""
        self.numbers_anew, self.tasks = self.chance(0.1), self.chance(0.2)
        for _ in range(self.random.randrange(3)):
            self.messages += [HumanMessage("?", id=self.new("user")), AIMessage("!", id=self.new("lc_run-"))]
        before = self.resumed() if self.chance(0.2) else self.asked()
        for _ in range(self.random.randrange(1, 4)):
            self.superstep()
        interrupted = self.chance(0.2)
        if interrupted:
            asked = (Interrupt("Sure?", id=self.new("ask")),)
            self.tell((), "updates", {"__interrupt__": asked})
            self.tell((), "values", {**self.values(), "__interrupt__": asked})
        return Scenario(before, self.parts, self.values(), interrupted, self.numbers_anew, self.mixes_calls)

    def asked(self) -> list[BaseMessage]:
        """The run begins with an input."""
        before = list(self.messages)
        self.messages.append(HumanMessage("Go on.", id=self.new("user")))
        if self.form == "platform":
            self.tell((), "metadata", {"run_id": "run-1", "attempt": 1})
        self.tell((), "values", self.values())
        return before

    def resumed(self) -> list[BaseMessage]:
        """The run goes on after an interrupt: its first values lack what a finished sibling has written."""
        self.messages.append(HumanMessage("Go on.", id=self.new("user")))
        self.tell((), "values", self.values())
        done = AIMessage("Done before.", id=self.new("lc_run-"))
        self.tell((), "updates", {"sibling": {"messages": [done]}, "__metadata__": {"cached": True}})
        lane, saved = self.task((), "a")
        self.interleave([lane])
        before = [*self.messages, done]
        self.add([done, *saved] if self.chance(0.5) else [*saved, done])
        self.tell((), "values", self.values())
        return before

    def superstep(self) -> None:
        """Tasks at once, then the values they lead to; none if they wrote nothing."""
        nodes = self.random.sample(["a", "b", "c"], self.random.randrange(1, 4))
        self.counts = self.chance(0.7)
        lanes, saved = [], []
        for node in nodes:
            lane, update = self.task((), node)
            lanes.append(lane)
            saved += update
        lane, results = self.tools()
        if self.chance(0.1):
            self.started_over(lanes)
        self.interleave([*lanes, lane])
        if not (saved or results or self.counts):
            return
        self.add(saved + results)
        self.edit()
        self.channels = {"count": self.channels["count"] + 1, "notes": [*self.channels["notes"], *nodes]}
        self.tell((), "values", self.values())

    def started_over(self, lanes: Sequence[Lane]) -> None:
        """The server dies in the middle of a superstep and runs it again: what was open never ends."""
        if self.form != "platform":
            return
        abandoned, _ = self.task((), "a")
        self.interleave([abandoned[: self.random.randrange(len(abandoned) + 1)]])
        self.tell((), "metadata", {"run_id": "run-1", "attempt": 2})
        self.tell((), "values", self.values())

    def task(self, ns: Ns, node: str) -> tuple[Lane, list[BaseMessage]]:
        """What one task streams, and the messages it saves."""
        task = (*ns, f"{node}:{self.new('task')}")
        lane, saved = self.body(task, node, depth=len(ns))
        count = {"count": self.channels["count"] + 1} if self.counts else None
        update: dict[str, Any] | None = {"messages": saved} if saved else count
        lane.append((ns, "updates", {node: update}))
        if self.tasks:
            name = task[-1].split(":")[1]
            ended: dict[str, Any] = {"id": name, "name": node, "error": None, "result": update or {}, "interrupts": []}
            lane.insert(0, (ns, "tasks", {"id": name, "name": node, "input": {}, "triggers": []}))
            lane.append((ns, "tasks", ended))
        return lane, saved

    def body(self, task: Ns, node: str, depth: int) -> tuple[Lane, list[BaseMessage]]:
        kind = self.random.choice(["model", "model", "gathered", "in sequence", "whole", "child", "silent", "custom"])
        if kind == "child" and depth < 2:
            return self.child(task)
        if kind == "gathered":
            self.mixes_calls = self.mixes_calls or self.form != "local"
            calls = [self.model(task, node) for _ in range(2)]
            return self.shuffled([lane for lane, _ in calls]), [message for _, saved in calls for message in saved]
        if kind == "in sequence":
            calls = [self.model(task, node) for _ in range(2)]
            return [part for lane, _ in calls for part in lane], [message for _, saved in calls for message in saved]
        if kind == "whole":
            message = AIMessage(self.random.choice(self.whole_contents()), id=self.new("made"))
            return [(task[:-1], "messages", (message, self.metadata(task, node, model=False)))], [message]
        if kind == "silent":
            return [], []
        if kind == "custom":
            plan = {"type": "ACTIVITY_SNAPSHOT", "messageId": self.new("plan"), "activityType": "PLAN", "content": {}}
            payload = plan if self.chance(0.3) else {"progress": self.made}
            unknown = (task[:-1], self.random.choice(["checkpoints", "debug", "tools"]), {"any": "thing"})
            return [(task[:-1], "custom", payload), unknown], []
        return self.model(task, node)

    def whole_contents(self) -> list[Any]:
        """What an answer that did not stream may say."""
        image = {"type": "image", "base64": "AA==", "mime_type": "image/png"}
        cited = {"type": "text", "text": "So.", "annotations": [{"type": "citation", "url": "https://example.org/"}]}
        thought = {"type": "reasoning", "reasoning": "Hm."}
        return [self.words(), "", [thought, {"type": "text", "text": "So."}], [image, cited], [thought]]

    def child(self, task: Ns) -> tuple[Lane, list[BaseMessage]]:
        """A subgraph with a superstep of its own; its caller saves what it said."""
        nodes = self.random.sample(["x", "y"], self.random.randrange(1, 3))
        told = [self.task(task, node) for node in nodes]
        said = [message for _, saved in told for message in saved]
        start = (task, "values", {"messages": list(self.messages)})
        end = (task, "values", {"messages": [*self.messages, *said]})
        return [start, *self.shuffled([lane for lane, _ in told]), end], said

    def model(self, task: Ns, node: str) -> tuple[Lane, list[BaseMessage]]:
        """A model call that streams, and what is saved of it."""
        metadata = self.metadata(task, node, model=True)
        chunks = self.chunks()
        lane: Lane = [(task[:-1], "messages", (chunk, metadata)) for chunk in chunks]
        if self.chance(0.05):
            lane.insert(self.random.randrange(len(lane)), lane[0])
        total = chunks[0]
        for chunk in chunks[1:]:
            total += chunk
        saved = message_chunk_to_message(total)
        fate = self.random.choice(["kept"] * 6 + ["dropped", "renamed", "edited"])
        if fate == "dropped":
            return lane, []
        if fate == "renamed":
            saved = saved.model_copy(update={"id": self.new("copy")})
            lane.append((task[:-1], "messages", (saved, self.metadata(task, node, model=False))))
        if fate == "edited":
            saved = saved.model_copy(update={"content": "Edited."})
        return lane, [saved]

    def chunks(self) -> list[AIMessageChunk]:
        """The chunks of one answer: reasoning, text, calls, cut anywhere."""
        fields: list[dict[str, Any]] = []
        if self.chance(0.3):
            fields += [{"content": [{"type": "reasoning", "reasoning": word, "index": 0}]} for word in self.some()]
            fields += [{"content": [{"type": "text", "text": word, "index": 1}]} for word in self.some()]
        elif self.chance(0.2):
            fields += [{"content": "", "additional_kwargs": {"reasoning_content": word}} for word in self.some()]
            fields += [{"content": word} for word in self.some()]
        else:
            fields += [{"content": word} for word in self.some()]
        calls = [self.call(index) for index in range(self.random.choice([0, 0, 0, 1, 1, 2]))]
        fields += self.shuffled(calls) if self.chance(0.3) else [part for call in calls for part in call]
        if self.chance(0.2) and len(fields) > 1:
            merged = {**fields.pop(0)}
            fields[0] = {**merged, **fields[0]} if "content" not in fields[0] else fields[0]
        fields.append({"content": "", "chunk_position": "last"})
        content = any(isinstance(each.get("content"), list) for each in fields)
        for each in fields:
            each.setdefault("content", [] if content else "")
        return [AIMessageChunk(**each, id=name) for each, name in zip(fields, self.ids(len(fields)), strict=True)]

    def call(self, index: int) -> list[dict[str, Any]]:
        """The chunks of one tool call."""
        name = self.random.choice(["look", "task", "count"])
        args = self.random.choice(ARGS) if name != "task" else '{"subagent_type": "helper", "description": "Help."}'
        cuts = sorted(self.random.sample(range(len(args) + 1), min(2, len(args))))
        pieces = [args[: cuts[0]], *(args[start:] for start in cuts[:0]), args[cuts[0] :]]
        call_id = f"call_{index}" if self.numbers_anew else self.new("call")
        first = {"name": name, "args": pieces[0], "id": call_id, "index": index}
        rest = [{"name": None, "args": piece, "id": None, "index": index} for piece in pieces[1:]]
        return [{"tool_call_chunks": [chunk]} for chunk in [first, *rest]]

    def ids(self, count: int) -> list[str]:
        """The ids of an answer's chunks, in one of the shapes that are known."""
        run, shape = f"lc_run--{self.new('r')}", self.random.choice(SHAPES)
        provider = "resp" if self.numbers_anew else self.new("resp")
        return {
            "run": [run] * count,
            "provider": [provider] * (count - 1) + [run],
            "provider first": [provider] + [run] * (count - 1),
            "provider late": [run] * (count - 1) + [provider],
            "changing": [f"{provider}-{number}" for number in range(count)],
            "uuid each": [run] * count,
        }[shape]

    def tools(self) -> tuple[Lane, list[BaseMessage]]:
        """Answers to open calls; a `task` call is a subagent's, and a tool may ask a model."""
        answered = {message.tool_call_id for message in self.messages if isinstance(message, ToolMessage)}
        calls = [call for message in self.messages if isinstance(message, AIMessage) for call in message.tool_calls]
        lanes: list[Lane] = []
        results: list[BaseMessage] = []
        for call in calls:
            if call["id"] in answered or self.chance(0.3):
                continue
            task = (f"tools:{self.new('task')}",)
            lane: Lane = []
            if call["name"] == "task":
                asked = [HumanMessage(str(call["args"].get("description")), id=self.new("told"))]
                lane.append((task, "values", {"messages": asked}))
                lane += self.model((*task, f"model:{self.new('task')}"), "model")[0]
            elif self.chance(0.2):
                lane += self.model(task, "tools")[0]
            result = ToolMessage("Done.", tool_call_id=str(call["id"]), name=call["name"], id=self.new("result"))
            lane.append(((), "messages", (result, self.metadata(task, "tools", model=False))))
            lane.append(((), "updates", {"tools": {"messages": [result]}}))
            lanes.append(lane)
            results.append(result)
        return self.shuffled(lanes), results

    def add(self, messages: Sequence[BaseMessage]) -> None:
        """Adds messages as LangGraph's reducer does: one with an id that is there takes its place."""
        for message in messages:
            ids = [known.id for known in self.messages]
            if message.id in ids:
                self.messages[ids.index(message.id)] = message
            else:
                self.messages.append(message)

    def edit(self) -> None:
        """What a node may do to the conversation beside adding to it."""
        kind = self.random.choice(["nothing"] * 7 + ["remove", "turn", "insert"])
        at = self.random.randrange(len(self.messages))
        if kind == "remove" and len(self.messages) > 1:
            self.messages.pop(at)
        elif kind == "turn":
            self.messages.append(self.messages.pop(at))
        elif kind == "insert":
            self.messages.insert(at, HumanMessage("A summary.", id=self.new("summary")))

    def values(self) -> dict[str, Any]:
        return {"messages": list(self.messages), **self.channels}

    def metadata(self, task: Ns, node: str, *, model: bool) -> dict[str, Any]:
        path = ("__pregel_push", 0, False) if node == "tools" else ("__pregel_pull", node)
        made = {"langgraph_node": node, "langgraph_checkpoint_ns": "|".join(task), "langgraph_step": 1}
        made["langgraph_path"] = path
        return {**made, "ls_provider": "p", "ls_model_name": "m", "ls_model_type": "chat"} if model else made

    def interleave(self, lanes: Sequence[Lane]) -> None:
        for part in self.shuffled(lanes):
            self.tell(*part)

    def shuffled(self, lanes: Sequence[list[Any]]) -> list[Any]:
        """The elements of all lanes, each lane in its order."""
        lanes = [list(lane) for lane in lanes if lane]
        order: list[Any] = []
        while lanes:
            lane = self.random.choice(lanes)
            order.append(lane.pop(0))
            lanes = [each for each in lanes if each]
        return order

    def tell(self, ns: Ns, mode: str, data: Any) -> None:
        """One part more, in the form that the stream has."""
        if self.form == "local":
            self.parts.append((ns, mode, data))
            return
        told = part_of(row_of((ns, mode, deepcopy(data))))
        self.parts.append(told if self.form == "json" else StreamPart("|".join([mode, *ns]), told[2]))

    def some(self) -> list[str]:
        return [self.random.choice(WORDS) for _ in range(self.random.randrange(1, 4))]

    def words(self) -> str:
        return "".join(self.some())

    def new(self, kind: str) -> str:
        self.made += 1
        return f"{kind}-{self.made}"

    def chance(self, share: float) -> bool:
        return self.random.random() < share
