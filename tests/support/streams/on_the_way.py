"""What a client displays while a run streams, and in how many fragments: `faults` checks a run batch by batch.

Each rule is a function of a `Run`, with a name of its own. A change that the graph itself makes is no fault: it removed
or rewrote a message, or a step ended without saving what was emitted in it. The root `values` of the stream show these
acts; if nothing was written, there are no values, and the `updates` show them. Nothing is translated here, and nothing
of the translator is asked but how parts and stored messages read.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

from langgraph_agui.connect.testing.checks import Items, displayed, is_same_text
from langgraph_agui.connect.testing.expected import Wire, expected
from langgraph_agui.translator import ClientView, Options, PartReader
from langgraph_agui.translator.content.blocks import Reasoning, Text
from langgraph_agui.translator.content.read_blocks import read_content
from langgraph_agui.translator.parts.channels import channels
from langgraph_agui.translator.parts.message import fields_of
from langgraph_agui.translator.parts.part import Namespace, Part, is_within, task_path

from tests.support.clients.agui_client import AguiClient, Answer

Event = dict[str, Any]
Key = tuple[str, str]
"""What is displayed: ("message", its id), or ("call", its id)."""


class Fault(NamedTuple):
    """A rule that is broken at a batch."""

    rule: str
    batch: int
    what: str


class Displayed(NamedTuple):
    """What a client displays."""

    messages: Sequence[Wire]
    state: Any


class Checkpoint(NamedTuple):
    """What root `values` say."""

    items: Items
    messages: Sequence[Wire]
    is_current: bool
    """Whether it has what was stored when it came: values that come with an interrupt are those from before."""
    is_whole: bool
    """Whether its superstep is over, too: behind an interrupt values have pending writes, and it is not."""


@dataclass
class Run:
    """A run as it was fed and as a client showed it: batch 0 is the start's, then one for each part, then the end's."""

    parts: Sequence[Any]
    batches: Sequence[Sequence[Event]]
    contents: Sequence[Displayed]
    """Before the start, and after each batch."""
    options: Options = field(default_factory=Options)
    stored: Items = field(default_factory=dict)
    """What the checkpoint of the thread had before the run."""

    @cached_property
    def read(self) -> list[Part | None]:
        """By batch: the part that was fed, the last one if it was read as several; None for what was read as none, and
        for the start and the end."""
        reader = PartReader()
        return [None, *(next(reversed(reader.read(part)), None) for part in self.parts), None]

    @cached_property
    def items(self) -> list[Items]:
        """What was displayed, as `contents`."""
        known: list[Items] = []
        for number, now in enumerate(self.contents):
            same = number > 0 and now.messages is self.contents[number - 1].messages
            known.append(known[-1] if same else displayed(now.messages))
        return known

    @cached_property
    def checkpoints(self) -> list[tuple[int, Checkpoint]]:
        """The root values of the stream, with their batch."""
        return [
            (batch, _checkpoint(part, self.options, is_whole=self.interrupted is None or batch < self.interrupted))
            for batch, part in enumerate(self.read)
            if part is not None and part.mode == "values" and not part.ns
        ]

    @cached_property
    def interrupted(self) -> int | None:
        """The batch in which an interrupt came, if the run ends with it."""
        if not (self.batches[-1] and self.batches[-1][-1].get("outcome", {}).get("type") == "interrupt"):
            return None
        return next((batch for batch, part in enumerate(self.read) if part is not None and _interrupts(part)), None)

    @property
    def succeeded(self) -> bool:
        """Whether the run ended well, so that all its steps are over."""
        last = self.batches[-1][-1] if self.batches[-1] else {}
        return last.get("type") == "RUN_FINISHED" and last.get("outcome", {}).get("type", "success") == "success"

    def before(self, batch: int) -> Items:
        """What was displayed before a batch."""
        return self.items[batch]

    def after(self, batch: int) -> Items:
        """What was displayed after a batch."""
        return self.items[batch + 1]

    def latest(self, batch: int) -> tuple[int, Checkpoint] | None:
        """The newest root values that had come by a batch."""
        return next(((at, found) for at, found in reversed(self.checkpoints) if at <= batch), None)

    def last_change(self, key: Key, batch: int) -> int:
        """The last batch before this one in which something displayed grew; -1 if none of this run."""
        changes = [at for at in range(batch) if self.after(at).get(key) != self.before(at).get(key)]
        return changes[-1] if changes else -1

    def dropped_by_graph(self, key: Key, batch: int) -> bool:
        """Whether the graph's own act takes something off the screen in this batch: a step ended and the conversation
        that it left has no such message."""
        if (batch == len(self.batches) - 1 and self.succeeded) or self.removed(key, batch) or self.lost(key, batch):
            return True
        last_change = self.last_change(key, batch)
        return any(
            last_change < at <= batch and checkpoint.is_whole and key not in checkpoint.items
            for at, checkpoint in self.checkpoints
        )

    def left_out(self, key: Key, batch: int) -> bool:
        """Whether the graph has taken something out of the conversation by this batch: it was stored, or emitted in
        this run, and is not in the last values of a step that is over."""
        whole = [(at, checkpoint) for at, checkpoint in self.checkpoints if at <= batch and checkpoint.is_whole]
        if self.lost(key, batch):
            return True
        if self.removed(key, batch) or not whole or key in whole[-1][1].items:
            return self.removed(key, batch)
        return 0 <= self.last_change(key, batch) < whole[-1][0]

    def removed(self, key: Key, batch: int) -> bool:
        """Whether something that was stored is not in the newest root values that had come by a batch."""
        known = [checkpoint.items for at, checkpoint in self.checkpoints if at <= batch and checkpoint.is_current]
        stored = key in self.stored or any(key in checkpoint for checkpoint in known)
        return stored and bool(known) and key not in known[-1]

    def lost(self, key: Key, batch: int) -> bool:
        """Whether the node that said something has returned by this batch, and no node has written anything since the
        last root values: no values will have it."""
        said = self.last_change(key, batch)
        part = self.read[said] if said >= 0 else None
        if part is None or part.mode != "messages":
            return False
        node = task_path(part.ns, part.data[1] or {})[0].partition(":")[0]
        begun = max((at for at, checkpoint in self.checkpoints if at < said and checkpoint.is_current), default=0)
        outputs = [(at, *output) for at in range(begun, batch + 1) for output in _outputs(self.read[at])]
        returned = any(name == node and at > said for at, name, _ in outputs)
        return returned and not any(output for _, _, output in outputs)

    def stored_as(self, key: Key, batch: int) -> bool:
        """Whether the conversation has it under another id by this batch, and displays it so."""
        text, after, latest = self.before(batch)[key], self.after(batch), self.latest(batch)
        return latest is not None and any(
            other[0] == key[0] and other in after and other not in self.before(batch) and is_same_text(stored, text)
            for other, stored in latest[1].items.items()
        )


# --- the rules --------------------------------------------------------------------------------------------------------


def a_text_only_grows(run: Run) -> Iterator[tuple[int, str]]:
    """A text changes at its end only, unless the graph stored another one. Arguments are equal if they are as JSON."""
    for batch in _changes(run):
        before, after, latest = run.before(batch), run.after(batch), run.latest(batch)
        for key in before.keys() & after.keys():
            rewritten = latest is not None and key in latest[1].items and is_same_text(latest[1].items[key], after[key])
            rewritten = rewritten or (key[0] == "call" and is_same_text(before[key], after[key]))
            if not after[key].startswith(before[key]) and not rewritten:
                yield batch, f"{key}: {before[key]!r} became {after[key]!r}"


def nothing_vanishes(run: Run) -> Iterator[tuple[int, str]]:
    """What is displayed stays, unless the graph removed it or did not save it in a step that is over."""
    for batch in _changes(run):
        for key in run.before(batch).keys() - run.after(batch).keys():
            if not run.dropped_by_graph(key, batch) and not run.stored_as(key, batch):
                yield batch, f"{key}: {run.before(batch)[key]!r} vanished"


def nothing_returns(run: Run) -> Iterator[tuple[int, str]]:
    """What vanished does not come back, unless the graph left it out of a step's conversation and stored it later."""
    gone: dict[Key, int] = {}
    for batch in _changes(run):
        for key in run.after(batch).keys() - run.before(batch).keys():
            if key in gone and not run.left_out(key, gone[key]):
                yield batch, f"{key}: vanished in batch {gone[key]}, and came back"
        gone |= dict.fromkeys(run.before(batch).keys() - run.after(batch).keys(), batch)


def no_result_comes_before_its_call(run: Run) -> Iterator[tuple[int, str]]:
    """A tool result is displayed with or after its call, where the call is displayed at all and the graph does not
    store them the other way round."""
    ever = {key for now in run.items for key in now}
    for batch, events in enumerate(run.batches):
        known = set(run.before(batch))
        for event in events:
            if event["type"] == "TOOL_CALL_START":
                known.add(("call", event["toolCallId"]))
            elif event["type"] == "MESSAGES_SNAPSHOT":
                known |= displayed(event["messages"]).keys()
                latest = run.latest(batch)
                stored = [] if latest is None else _before_their_calls(latest[1].messages)
                yield from ((batch, what) for what in _before_their_calls(event["messages"]) if what not in stored)
            elif event["type"] == "TOOL_CALL_RESULT" and ("call", event["toolCallId"]) in ever - known:
                yield batch, f"a result of {event['toolCallId']} before the call"


def a_message_starts_once(run: Run) -> Iterator[tuple[int, str]]:
    """One START for each message and call that is displayed; one behind a snapshot in the same batch opens it again.
    Reasoning is a span: a model that thinks again behind a text opens it again."""
    started: set[tuple[str, str]] = set()
    for batch, events in enumerate(run.batches):
        snapshot, displayed = False, {key[1] for key in run.before(batch)}
        for event in events:
            snapshot = snapshot or event["type"] == "MESSAGES_SNAPSHOT"
            if event["type"] not in ("TEXT_MESSAGE_START", "TOOL_CALL_START"):
                continue
            key = (event["type"], event.get("toolCallId") or event["messageId"])
            if key in started and key[1] in displayed and not snapshot:
                yield batch, f"a second {key[0]} of {key[1]}"
            started.add(key)
            displayed.add(key[1])


def a_step_is_open_while_its_node_runs(run: Run) -> Iterator[tuple[int, str]]:
    """From a task's start to its result, as the `tasks` mode has them, the step of its node is open. A task that a
    resumed run does not run again starts, and has no result: its cached output is its end, or the end of the superstep.
    When a server runs a superstep anew, what it ran before is over."""
    running: dict[Any, tuple[Namespace, list[str]]] = {}
    opened: list[tuple[str, Any]] = []
    subagents = False
    for batch, (part, events) in enumerate(zip(run.read, run.batches, strict=True)):
        if part is not None and part.mode == "tasks" and isinstance(part.data, Mapping):
            node, task = part.data.get("name"), part.data.get("id")
            nodes = [segment.split(":")[0] for segment in part.ns if ":" in segment]  # a bare number is no node's
            if "input" not in part.data:
                running.pop(task, None)
            elif "tools" not in nodes or subagents:
                running[task] = part.ns, ["/".join([*nodes[at:], str(node)]) for at in range(len(nodes) + 1)]
        elif part is not None and part.mode == "metadata":
            running.clear()
        elif part is not None and part.mode == "updates" and _is_cached(part.data):
            for name in part.data:
                task = next((each for each, (ns, paths) in running.items() if (ns, paths[-1]) == (part.ns, name)), None)
                running.pop(task, None)
        elif part is not None and part.mode == "values" and not _interrupts(part):
            running = {task: known for task, known in running.items() if not is_within(known[0], part.ns)}
        for event in events:
            subagents = subagents or event["type"] == "SUBAGENT_STARTED"
            step = (event.get("stepName"), event.get("subagentRunId"))
            if event["type"] == "STEP_STARTED":
                opened.append((str(step[0]), step[1]))
            elif event["type"] == "STEP_FINISHED":
                opened.remove((str(step[0]), step[1]))
        names = {name for name, _ in opened}
        for _, paths in running.values() if run.options.steps and batch < len(run.batches) - 1 else ():
            if names.isdisjoint(paths):
                yield batch, f"{paths[0]} runs, open are {names}"


def an_interrupt_leaves_what_is_displayed(run: Run) -> Iterator[tuple[int, str]]:
    """What is displayed when an interrupt comes is displayed at the end, perhaps under the id it is stored under."""
    if run.interrupted is None:
        return
    final = run.items[-1]
    texts = {(kind, text) for (kind, _), text in final.items()}
    for key, text in run.before(run.interrupted).items():
        if key not in final and (key[0], text) not in texts and not run.left_out(key, len(run.batches) - 1):
            yield run.interrupted, f"{key}: {text!r} is displayed no more"


def a_prediction_stays(run: Run) -> Iterator[tuple[int, str]]:
    """A channel that was predicted changes again when more is predicted, it is written, its call is answered, or the
    run ends; not before."""
    predicted: dict[str, str | None] = {}
    tools: dict[str, str] = {}
    call: str | None = None
    written: set[str] = set()
    answered: set[str] = set()
    for batch, (part, events) in enumerate(zip(run.read, run.batches, strict=True)):
        if part is None:
            continue
        before, after = run.contents[batch].state, run.contents[batch + 1].state
        if part.mode == "updates" and not part.ns and isinstance(part.data, Mapping):
            written |= {str(name) for update in part.data.values() for one in _list(update) for name in _channels(one)}
        for event in events:
            if event["type"] == "CUSTOM" and event["name"] == "PredictState":
                tools |= {item["tool"]: item["state_key"] for item in event["value"]}
            elif event["type"] == "TOOL_CALL_START" and event["toolCallName"] in tools:
                call = event["toolCallId"]
            elif event["type"] == "TOOL_CALL_RESULT":
                answered.add(event["toolCallId"])
        if part.mode.startswith("messages"):
            predicted |= dict.fromkeys(_differing(before, after), call)
        elif part.mode == "values" and not part.ns:
            for name in _differing(before, after):
                call_id = predicted.pop(name, None)
                if call_id is not None and name not in written and call_id not in answered:
                    yield batch, f"{name}: the prediction of {call_id} became {_get(after, name)!r}"
            written.clear()


def _note_calls(part: Part | None, calls: set[str]) -> None:
    """Adds the calls of a part's messages. Which of them still wait when a graph begins is not followed: a sibling may
    stream a result that is not stored yet."""
    messages: Any = ()
    if part is not None and part.mode == "messages":
        messages = part.data[:1]
    elif part is not None and part.mode == "values" and isinstance(part.data, Mapping):
        messages = part.data.get("messages") or ()
    for message in messages:
        known = fields_of(message)
        made = [*(known.get("tool_calls") or ()), *(known.get("tool_call_chunks") or ())]
        calls.update(str(call["id"]) for call in made if call.get("id"))


def a_message_is_emitted_in_its_fragments(run: Run) -> Iterator[tuple[int, str]]:
    """A text or a thought that streamed in n fragments and is displayed was emitted in these."""
    final = {(message["role"], message["id"]): message.get("content") for message in run.contents[-1].messages}
    streamed: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    emitted: dict[tuple[str, str], list[str]] = defaultdict(list)
    calls: set[str] = set()
    may_answer: set[tuple[str, str, str]] = set()
    for batch, (part, events) in enumerate(zip(run.read, run.batches, strict=True)):
        _note_calls(part, calls)
        for kind, text in _streamed(part):
            assert part is not None
            metadata = part.data[1]
            key = kind, str(metadata.get("langgraph_checkpoint_ns")), str(fields_of(part.data[0]).get("id"))
            if key not in streamed and calls and "|" in key[1]:
                may_answer.add(key)
            streamed[key].append(text)
        for event in events:
            if event["type"] == "TEXT_MESSAGE_START" and ("message", event["messageId"]) not in run.before(batch):
                emitted.pop(("assistant", event["messageId"]), None)  # it begins, perhaps anew
            if event["type"] in ("TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT") and event["delta"]:
                kind = "assistant" if event["type"] == "TEXT_MESSAGE_CONTENT" else "reasoning"
                emitted[kind, event["messageId"]].append(event["delta"])
    for (kind, task, message_id), texts in streamed.items():
        whole, deltas = "".join(texts), emitted[kind, message_id]
        if deltas in ([], [whole]) and (kind, task, message_id) in may_answer:
            continue  # said in a graph that began after calls were made: it may run to answer them
        if deltas == [whole] and _is_json(whole):
            continue  # a platform's: it may be structured output, and is not shown before it is saved
        if kind == "assistant" and not deltas and whole.strip(_SPACE) in ("", "{", "["):
            continue  # a platform's: nothing has shown that it is prose, so the checkpoint brings it
        held = _held(texts) if kind == "assistant" else ()
        if any(deltas == ["".join(texts[:number]), *texts[number:]] for number in held):
            continue  # a platform's: it might have been
        if final.get((kind, message_id)) == whole and whole.startswith("".join(deltas)) and deltas != texts:
            yield len(run.batches) - 1, f"{kind} {message_id}: {texts} was emitted as {deltas}"


_HELD = 3
"""In how many fragments, besides white space, it shows at the latest that a text which begins like JSON is prose."""
_SILENT = {"nostream", "langsmith:nostream"}
"""Tags of models whose answers are shown when they are saved, and not while they stream."""
_SPACE = " \t\n\r"
"""The white space that JSON may have around its values (https://www.rfc-editor.org/rfc/rfc8259#section-2)."""


def _held(texts: Sequence[str]) -> range:
    """How many fragments at the beginning of a text may be emitted as one: white space, which may come before JSON, and
    the fragments that show whether what follows it is JSON."""
    filled = list(accumulate(bool(text.strip(_SPACE)) for text in texts))
    if "".join(texts).lstrip(_SPACE).startswith(("{", "[")):
        return range(2, sum(number <= _HELD for number in filled) + 1)
    return range(2, filled.count(False) + 2)


def _is_json(text: str) -> bool:
    """Whether a text is an object or an array."""
    try:
        return isinstance(json.loads(text), dict | list)
    except json.JSONDecodeError:
        return False


RULES: dict[str, Callable[[Run], Iterator[tuple[int, str]]]] = {
    rule.__name__: rule
    for rule in (
        a_text_only_grows,
        nothing_vanishes,
        nothing_returns,
        no_result_comes_before_its_call,
        a_message_starts_once,
        a_step_is_open_while_its_node_runs,
        an_interrupt_leaves_what_is_displayed,
        a_prediction_stays,
        a_message_is_emitted_in_its_fragments,
    )
}


def faults(run: Run) -> list[Fault]:
    """All that is wrong on the way."""
    return [Fault(name, batch, what) for name, rule in RULES.items() for batch, what in rule(run)]


# --- what a client shows ----------------------------------------------------------------------------------------------


def in_view(view: ClientView, batches: Iterable[Sequence[Event]]) -> list[Displayed]:
    """What a client with this view shows before and after each batch. The view goes along."""
    found = [Displayed(view.messages, view.state)]
    for events in batches:
        for event in events:
            view.apply(event)
        found.append(Displayed(view.messages, view.state) if events else found[-1])
    return found


def in_client(
    client: AguiClient, version: str, begun: ClientView, batches: Sequence[Sequence[Event]]
) -> tuple[Answer, list[Displayed]]:
    """What the real client shows before and after each batch, having begun with the contents of a view."""
    counts = list(accumulate(map(len, batches)))
    events = [event for batch in batches for event in batch]
    answer = client.play(events, version=version, messages=begun.messages, state=begun.state, after=counts)
    found = [Displayed(begun.messages, begun.state)]
    for batch, entry in zip(batches, answer.trace, strict=True):
        found.append(Displayed(entry["messages"], entry["state"]) if batch else found[-1])
    return answer, found


def stored_items(checkpoint: Any, options: Options) -> Items:
    """What a checkpoint's values display."""
    return displayed(expected(checkpoint, options).messages)


# --- what a part says -------------------------------------------------------------------------------------------------


def _checkpoint(part: Part, options: Options, *, is_whole: bool) -> Checkpoint:
    messages = expected(part.data, options).messages
    is_current = not _interrupts(part)
    return Checkpoint(displayed(messages), messages, is_current, is_whole and is_current)


def _interrupts(part: Part) -> bool:
    """Whether a part has an interrupt that waits for an answer; a breakpoint has none."""
    named = channels(part.data) if part.mode in ("values", "updates") else None
    return bool(part.interrupts or (named or {}).get("__interrupt__"))


def _outputs(part: Part | None) -> Iterable[tuple[str, Any]]:
    """The outputs of the root's nodes that a part has, by node."""
    if part is None or part.ns or part.mode != "updates" or not isinstance(part.data, Mapping):
        return ()
    return ((name, output) for name, output in part.data.items() if not name.startswith("__"))


def _is_cached(updates: Any) -> bool:
    """Whether updates are the output of a task that ran before this run."""
    return isinstance(updates, Mapping) and bool((updates.get("__metadata__") or {}).get("cached"))


def _streamed(part: Part | None) -> list[tuple[str, str]]:
    """The text and the reasoning of a chunk of a model's answer, unless the graph hides it, or it is structured output:
    that is not shown while it streams."""
    if part is None or part.mode != "messages":
        return []
    chunk, metadata = fields_of(part.data[0]), part.data[1] or {}
    if chunk.get("type") != "AIMessageChunk" or "ls_model_type" not in metadata:
        return []
    if any(metadata.get(f"{prefix}emit-messages") is False for prefix in ("", "copilotkit:")):
        return []
    if not _SILENT.isdisjoint(metadata.get("tags") or ()):
        return []
    structured = metadata.get("agui_structured")
    shown = () if structured == "call" else Reasoning if structured == "text" else Text | Reasoning
    return [
        ("assistant" if isinstance(block, Text) else "reasoning", block.text)
        for block in read_content(chunk)
        if isinstance(block, Text | Reasoning) and isinstance(block, shown) and block.text
    ]


def _changes(run: Run) -> Iterator[int]:
    """The batches that changed what is displayed."""
    return (batch for batch in range(len(run.batches)) if run.before(batch) is not run.after(batch))


def _before_their_calls(messages: Sequence[Wire]) -> list[str]:
    """The results that stand before every message with their call; models number their calls anew."""
    calls, before = displayed(messages).keys(), set[Key]()
    found: list[str] = []
    for message in messages:
        if message["role"] == "tool" and ("call", message["toolCallId"]) in calls - before:
            found.append(f"the result {message['id']} before its call, in a snapshot")
        before |= displayed([message]).keys()
    return found


def _list(update: Any) -> Sequence[Any]:
    return update if isinstance(update, list | tuple) else [update]


def _channels(update: Any) -> Iterable[Any]:
    return update if isinstance(update, Mapping) else ()


def _get(state: Any, name: str) -> Any:
    return state.get(name) if isinstance(state, Mapping) else None


def _differing(state: Any, other: Any) -> list[str]:
    """The channels in which two states differ."""
    if state is other or not isinstance(state, Mapping) or not isinstance(other, Mapping):
        return []
    names = [*state, *(name for name in other if name not in state)]
    return [name for name in names if name not in state or name not in other or state[name] != other[name]]
