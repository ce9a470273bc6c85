"""Runs of a `Translator`: the events of each call into it, and which of its messages a checkpoint must have.

Never here: graphs, recordings, the Node client.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

from langgraph_agui.connect.testing.expected import unattributed
from langgraph_agui.translator import ClientView, Options, PartReader, Translator
from langgraph_agui.translator.endings import Ending, Finished
from langgraph_agui.translator.parts.message import fields_of
from langgraph_agui.translator.parts.part import Part
from orjson import dumps

from tests.support.clients.agui_client import protocol

Event = dict[str, Any]


def options_for(version: str, messages_key: str | None = "messages", **chosen: Any) -> Options:
    """The options for a client of this version and a graph with this messages channel."""
    return Options(protocol_version=protocol(version), messages_key=messages_key or "messages", **chosen)


def view_for(version: str, messages: Sequence[Mapping[str, Any]], state: Any) -> ClientView:
    """The view of a client of this version that is known to have these messages and this state."""
    return ClientView(messages, state, version=protocol(version))


class TranslatorRun:
    """One run: the translator, and the events of each call into it."""

    def __init__(
        self,
        options: Options | None = None,
        view: ClientView | None = None,
        run_id: str = "run-1",
        source: Literal["local", "platform"] | None = None,
    ) -> None:
        self.options = options or Options()
        self.translator = Translator("thread-1", run_id, self.options, view, source=source)
        self.feeds = [self.translator.start()]
        self._reader = PartReader()
        self.activities: set[str] = set()
        """Ids of the activities that nodes made themselves: no checkpoint has them."""
        self._emitted: set[str] = set()
        """The ids of the messages that came in this superstep of the root graph, from any graph."""
        self._asks = False
        """Whether an interrupt has come: then this superstep is not over when the run ends."""
        self._begun = 0
        """How many feeds there were when the superstep of the root graph began."""

    def feed(self, part: Any) -> list[Event]:
        """Feeds one part."""
        self.feeds.append(self.translator.feed(part))
        self.activities |= _activities(part)
        for read in self._reader.read(part):
            self._read(read)
        return self.feeds[-1]

    def finish(self, ending: Ending | BaseException | None = None) -> list[Event]:
        """Ends the run. None: it has finished, also if it is a platform's."""
        self.feeds.append(self.translator.finish(Finished() if ending is None else ending))
        return self.feeds[-1]

    @property
    def events(self) -> list[Event]:
        """All events so far."""
        return [event for feed in self.feeds for event in feed]

    @property
    def view(self) -> ClientView:
        """What the translator knows of the client."""
        return self.translator.view

    @property
    def end(self) -> str:
        """The outcome in the terminal event: error, interrupt, success, cancelled."""
        last = self.feeds[-1][-1]
        return "error" if last["type"] == "RUN_ERROR" else str(last.get("outcome", {"type": "success"})["type"])

    def own(self, messages: Iterable[Mapping[str, Any]], stored: Collection[str] = ()) -> list[Mapping[str, Any]]:
        """Of a client's messages those that a checkpoint must have.

        Those it need not have: of subagents; activities of nodes, of tools and of failures; reasoning and media that
        are not `stored` and that no snapshot makes a client of this version drop; what is not `stored` of a superstep
        that waits.
        """
        listed = list(messages)
        apart = self.activities | (self._stuck().union(self.waiting(listed)) - set(stored))
        own = (item for item in unattributed(listed) if item["id"] not in apart)
        return [item for item in own if item.get("activityType") not in ("tool_progress", "run_error")]

    def waiting(self, messages: Iterable[Mapping[str, Any]]) -> list[str]:
        """The ids of those messages that were emitted in the superstep in which an interrupt is pending."""
        emitted = self._emitted if self._asks else ()
        return [item["id"] for item in messages if any(item["id"].startswith(each) for each in emitted)]

    def emitted_by_waiting(self) -> list[Mapping[str, Any]]:
        """What was emitted in this run's last superstep, if it ends with an interrupt: a client must have it at the
        end. Subagents' messages are not counted."""
        if self.end != "interrupt":
            return []
        view = ClientView([], {}, version=self.options.protocol_version)
        for event in (event for feed in self.feeds[self._begun :] for event in feed):
            if event["type"] != "MESSAGES_SNAPSHOT":
                view.apply(event)
        waiting = self.waiting(view.messages)
        return [item for item in unattributed(view.messages) if item["id"] in waiting]

    def _read(self, part: Part) -> None:
        data, asked = part.data, part.interrupts
        if part.mode == "messages" and isinstance(data[1], Mapping):
            self._emitted.add(str(fields_of(data[0]).get("id")))
        elif part.mode in ("updates", "values") and isinstance(data, Mapping):
            asked = data.get("__interrupt__", asked)
            if part.mode == "values" and not part.ns and not _has_items(asked) and not self._asks:
                self._begun = len(self.feeds)
                self._emitted.clear()
            stored = data.get(self.options.messages_key) if part.ns and part.mode == "values" else ()
            for message in stored if isinstance(stored, list | tuple) else ():  # of a run before, perhaps
                self._emitted.add(str(fields_of(message).get("id")))
        self._asks = self._asks or _has_items(asked)

    def _stuck(self) -> set[str]:
        view = ClientView([], {}, version=self.options.protocol_version)
        stuck: set[str] = set()
        for event in self.events:
            view.apply(event)
            if event["type"] == "MESSAGES_SNAPSHOT":
                ids = {message["id"] for message in event["messages"]}
                absent = {"reasoning", "activity"}.difference(message["role"] for message in event["messages"])
                stuck |= {item["id"] for item in view.messages if item["role"] in absent} - ids
        return stuck


def _has_items(asked: Any) -> bool:
    """Whether interrupts came; the value may be anything, and its truth may raise."""
    return type(asked) in (list, tuple) and len(asked) > 0


def run_parts(
    parts: Iterable[Any],
    ending: Ending | BaseException | None = None,
    options: Options | None = None,
    view: ClientView | None = None,
) -> TranslatorRun:
    """A whole run."""
    run = TranslatorRun(options, view)
    for part in parts:
        run.feed(part)
    run.finish(ending)
    return run


def left_open(events: Iterable[Event]) -> list[str]:
    """What is open when the terminal event comes. The client allows that before an error; no test here does."""
    view = ClientView([], {})
    for event in events:
        if event["type"] in ("RUN_FINISHED", "RUN_ERROR"):
            now = view.open
            return [*now.texts, *now.calls, *now.spans, *now.reasonings, *map(str, now.steps), *now.subagents]
        view.apply(event)
    return ["the run: no terminal event"]


def needless(events: Iterable[Event], view: ClientView) -> list[Event]:
    """Snapshots and deltas that change nothing for a client with this view. A snapshot without messages that the client
    keeps by its own rule (reasoning, if none is left) is not counted."""
    found: list[Event] = []
    for event in events:
        kind = event["type"]
        if kind == "MESSAGES_SNAPSHOT":
            known, before = view.knows_messages, view.messages
            view.apply(event)
            ids = {message["id"] for message in event["messages"]}
            if known and before == view.messages and all(message["id"] in ids for message in before):
                found.append(event)
        elif kind in ("STATE_SNAPSHOT", "STATE_DELTA"):
            known, state = view.knows_state, dumps(view.state)
            view.apply(event)
            taken = event.get("snapshot", True) is not None  # the older client takes null, and keeps the last
            if known and taken and dumps(view.state) == state:
                found.append(event)
        else:
            view.apply(event)
    return found


def _activities(part: Any) -> set[str]:
    for item in part.values() if isinstance(part, Mapping) else part:
        if type(item) is dict and item.get("type") == "ACTIVITY_SNAPSHOT":
            return {str(item.get("messageId") or item.get("message_id"))}
    return set()
