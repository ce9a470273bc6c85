"""Which kind of run an input asks for: `plan`, by the state of its thread. Pure; never how such a run is started.

    waits for an answer --some answered--> Resume     (`more`: new messages are run after it)
                        --breakpoint-----> GoOn, or Drop where it was cancelled
                        --page's results-> GoOn   at a breakpoint, with them
                        --no answer------> Wait       nothing runs; the client gets what waits
    else                --an edit--------> Fork       from the checkpoint before it, if it is one: see `forking`
                        --something new--> Begin      or Fork, where what is left out counts as taken back
                        --nothing new----> Again      a shortened list that ends in a question: the answer is made anew
                                         > Nothing    the same, but the question, or part of its answer, came into
                                                      the thread while the input waited: the same request was
                                                      carried out
                                         > GoOn       the last run left work undone: it is tried again
                                         > Nothing    all is done: an answer without a question, a request that came
                                                      again, a client that is missing the end of what was emitted,
                                                      calls that wait for the front end's results (if the graph's
                                                      input takes messages), a result of a call that waits for none
                                                      any more
                                         > Begin      a graph can run without an input

What is new (a client sends all that it has, which may be less than the thread, or what the thread has removed):

1. To a thread without a checkpoint everything is new, assistants' messages too: a client may bring a conversation.
2. Otherwise the messages of users, systems and developers are new that come after the last message that the thread has
   or an assistant sent. What comes before was in the thread once and was removed. An assistant's message that the
   thread does not have is never new: a client sends back what it was shown, and this message was emitted and not saved,
   by a graph that keeps no messages, by a node that waits, or by a run that broke off.
3. A tool's result is new, wherever it is, if its call waits for one, and the graph does not run this tool itself: the
   results of those come from the graph alone, even if they were stopped. Other results are not taken. At a breakpoint
   the results are the answer if every waiting call has one, and is of a tool that the page has declared and the graph
   does not run. About any other call a human may have to decide at the breakpoint. Where the graph's tools are not
   known, the owner names the page's (`Intake.page_tools`).
4. The same holds for a pair that a page has added at the end: an assistant's message with calls and a result for each,
   all unknown to the thread, of tools that `Intake.page_calls` names and the graph does not have. What the message
   says apart from its calls is not taken. While the thread waits, no pair is taken. (A pair of any other tool may be
   one that a run has emitted and not saved, or made up.)
5. A message under a known id with other content is an edit, if the thread never had that content. Only users' are.
   While an interrupt is pending it waits, as new messages do.
6. If the graph's input takes no messages, it is not known which messages the thread had before, and a second run would
   get none of them. So none is new while the thread waits, or in an input with an answer. In any other input a message
   runs such a graph, but not a second time under the same run id.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from ag_ui.core import AssistantMessage, Message, RunAgentInput, ToolMessage

from ...translator import message_ids, unanswered_calls
from .answers.resume import Answers, answers, is_answering, log_ignored
from .intake import Intake
from .messages import is_from_user, same_content
from .thread_state import ThreadState

_SPEAKERS = ("user", "system", "developer")
_ASKS = ("user", "tool")


@dataclass(frozen=True, slots=True)
class Begin:
    """A turn from the graph's start, with these messages."""

    messages: Sequence[Message] = ()


@dataclass(frozen=True, slots=True)
class Resume:
    """The run that waits continues, with these answers, by interrupt id."""

    values: dict[str, Any]
    more: bool = False
    """Whether the input has new messages too, or an edit: a run of their own, when this one has ended well."""


@dataclass(frozen=True, slots=True)
class GoOn:
    """What the last run left undone is done."""

    more: bool = False
    results: Sequence[Message] = ()
    """The results of the page's tools that the run stopped for."""


@dataclass(frozen=True, slots=True)
class Drop:
    """What the last run left undone is given up."""

    more: bool = False


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing runs: the thread waits for an answer."""

    message_ids: tuple[str, ...] = ()
    """The messages, new or edited, which wait with it."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """Nothing runs: what the input is for is done."""

    late: tuple[str, ...] = ()
    """The tool calls whose results came too late: the thread has another result, or continued without one."""


@dataclass(frozen=True, slots=True)
class Fork:
    """A turn with these messages, from the newest checkpoint without the message `before`."""

    before: str
    messages: Sequence[Message] = ()
    edited: Message | None = None
    """The message that is an edit, if the thread never had that content."""


@dataclass(frozen=True, slots=True)
class Again:
    """A turn is run again, from the oldest checkpoint at which the message `after` is the last."""

    after: str

    def as_fork(self, given: RunAgentInput) -> Fork:
        """The same where no such checkpoint was kept: a turn with the question, from before it."""
        return Fork(self.after, [message for message in given.messages if message.id == self.after])


Plan = Begin | Resume | GoOn | Drop | Wait | Nothing | Fork | Again


def plan(
    given: RunAgentInput,
    state: ThreadState,
    intake: Intake,
    *,
    unedited: Collection[str] = (),
    follows: bool = False,
    before: Sequence[Any] | None = None,
    takes_messages: bool = True,
) -> Plan:
    """What kind of run the input asks for.

    `unedited`: ids of messages whose content differs, but is one that the thread had once. `follows`: its answers were
    run already; what is left are new messages, if any. `before`: the thread's messages when the input came; None: they
    are those of `state`. `takes_messages`: whether the graph's input has a channel for messages. Raises
    `InvalidInputError` where an answer does not say to which of several questions it belongs.
    """
    is_asked = state.waits or is_answering(given)
    page_calls = () if is_asked or given.run_id == state.run_id else intake.page_calls
    sent = _Sent(given.messages if takes_messages or not is_asked else (), state, intake.roles, page_calls)
    edited = sent.edited(unedited)
    if state.waits:
        results = sent.results_of({tool.name for tool in given.tools or ()}, state, intake.page_tools)
        return _answered(answers(given, state, intake.answer_cancelled), sent, edited, results)
    if is_answering(given) and given.run_id != state.run_id:
        log_ignored(given)
    if edited is not None:
        return Fork(edited.id, [edited, *sent.new_after(edited)], edited)
    if sent.new and given.run_id == state.run_id and not state.messages and not state.is_new:
        return GoOn() if state.is_unfinished else Nothing()
    if sent.new:
        parted = sent.parted() if intake.shortened == "fork" else None
        return Begin(sent.new) if parted is None else Fork(parted, sent.new)
    if follows:
        return Nothing()
    return _nothing_new(given, sent, state, before, takes_messages)


def _nothing_new(
    given: RunAgentInput, sent: _Sent, state: ThreadState, before: Sequence[Any] | None, takes_messages: bool
) -> Plan:
    answering = is_answering(given)
    again = None if answering else sent.shortened()
    if again is not None:
        is_done = given.run_id == state.run_id or (before is not None and sent.is_answered_since(before))
        return Nothing() if is_done else Again(again)
    if state.is_unfinished and (state.has_failed or not answering):
        return GoOn()
    if answering or sent.is_behind() or (sent.waits_for_results and takes_messages):
        return Nothing()
    late = sent.late()
    return Nothing(late) if late or given.run_id == state.run_id else Begin()


def _answered(found: Answers, sent: _Sent, edited: Message | None, results: Sequence[Message]) -> Plan:
    waiting = sent.new if edited is None else [edited, *sent.new]
    more = bool(waiting)
    if found.values:
        return Resume(dict(found.values), more)
    if found.continues is False:
        return Drop(more)
    if found.continues or results:
        return GoOn(len(waiting) > len(results), results)
    return Wait(tuple(message.id for message in waiting))


class _Sent:
    """What a client sent, beside what the thread has."""

    def __init__(
        self, messages: Sequence[Message], state: ThreadState, roles: Collection[str], page_calls: Collection[str]
    ) -> None:
        self._stored = dict(zip(message_ids(state.messages), state.messages, strict=True))
        self._sent = [message for message in messages if message.role in roles]
        calls = unanswered_calls(state.messages)
        self._waiting = calls
        self._calls = {call_id for call_id, name in calls if name not in state.own_tools}
        self.waits_for_results = bool(calls)
        """Whether the thread ends in unanswered calls."""
        added = self._added_by_page(set(page_calls) - set(state.own_tools), {call_id for call_id, _ in calls})
        self.new = list(self._sent) if state.is_new else self._new(len(self._sent) - len(added)) + added
        """What is new, in the client's order."""

    def edited(self, unedited: Collection[str]) -> Message | None:
        """The first message of a user that is stored with other content."""
        known = (each for each in self._sent if each.role == "user" and each.id in self._stored)
        candidates = (each for each in known if each.id not in unedited)
        return next((each for each in candidates if not same_content(self._stored[each.id], each)), None)

    def results_of(self, declared: set[str], state: ThreadState, named: Collection[str]) -> list[Message]:
        """The results with which a run passes its breakpoint: those of all calls that wait, if all are of tools that
        the page has declared and the graph does not run itself; else none. `declared`: the page's tools in the input.
        `named`: the page's tools by `Intake.page_tools`."""
        allowed = declared - set(state.own_tools)
        if not state.knows_tools:
            allowed &= set(named)
        answered = {message.tool_call_id for message in self.new if message.role == "tool"}
        is_whole = all(name in allowed and call_id in answered for call_id, name in self._waiting)
        is_answer = is_whole and self._waiting and state.is_stopped and not state.interrupts
        return [message for message in self.new if message.role == "tool"] if is_answer else []

    def new_after(self, edited: Message) -> list[Message]:
        """What users say after an edited message that is new as well."""
        since = next(index for index, each in enumerate(self._sent) if each is edited)
        later = {id(message) for message in self._sent[since:]}
        return [message for message in self.new if message.role in _SPEAKERS and id(message) in later]

    def shortened(self) -> str | None:
        """The id of the question that the client's list ends with, if the thread has messages after it."""
        last = self._question()
        return None if last is None or self._after(last.id) is None else last.id

    def is_answered_since(self, before: Sequence[Any]) -> bool:
        """Whether the question that the client's list ends with was answered, or answered to the end, after the thread
        had these messages: by a run for the same question."""
        last = self._question()
        if last is None:
            return False
        had, ids = set(message_ids(before)), list(self._stored)
        answer = takewhile(lambda each: not is_from_user(self._stored[each]), ids[ids.index(last.id) + 1 :])
        return any(message_id not in had for message_id in answer)

    def is_behind(self) -> bool:
        """Whether the client is missing the end of the thread, or of its last message."""
        last = next((message for message in reversed(self._sent) if message.id in self._stored), None)
        if last is None:
            return False
        return self._after(last.id) is not None or not same_content(self._stored[last.id], last)

    def late(self) -> tuple[str, ...]:
        """The calls of the results that the client's list ends with and the thread does not have, where none is new."""
        calls: list[str] = []
        for message in reversed(self._sent):
            if message.role == "tool" and message.id not in self._stored:
                calls.append(message.tool_call_id)
            elif message.role not in ("system", "developer"):
                break
        return tuple(reversed(calls))

    def parted(self) -> str | None:
        """The id of the first message that the thread has and the client has not, after all that both have."""
        known = [message.id for message in self._sent if message.id in self._stored]
        return self._after(known[-1]) if known else next(iter(self._stored), None)

    def _question(self) -> Message | None:
        """The message that the client's list ends with, if it asks for an answer and the thread has it."""
        last = next((message for message in reversed(self._sent) if message.role not in ("system", "developer")), None)
        return None if last is None or last.role not in _ASKS or last.id not in self._stored else last

    def _added_by_page(self, names: Collection[str], waiting: Collection[str]) -> list[Message]:
        """The messages that the client's list ends with, if they are calls of the tools `names` with their results;
        else none. `waiting`: ids of the calls that wait; a page can't add one of them, and so its result."""
        last = next((index for index, each in reversed(list(enumerate(self._sent))) if each.role != "tool"), 0)
        pair = self._sent[last:]
        calls = [call for each in pair if isinstance(each, AssistantMessage) for call in each.tool_calls or ()]
        answered = sorted(each.tool_call_id for each in pair if isinstance(each, ToolMessage))
        if not calls or answered != sorted(call.id for call in calls) or len(set(answered)) < len(calls):
            return []
        is_allowed = all(call.function.name in names and call.id not in waiting for call in calls)
        if not is_allowed or any(each.id in self._stored for each in pair):
            return []
        return [
            each.model_copy(update={"content": ""}) if isinstance(each, AssistantMessage) else each for each in pair
        ]

    def _new(self, end: int) -> list[Message]:
        """What is new of the first `end` messages."""
        sent = self._sent[:end]
        known = [index for index, each in enumerate(sent) if each.id in self._stored or each.role == "assistant"]
        since = known[-1] + 1 if known else 0
        return [message for index, message in enumerate(sent) if self._is_new(message, index >= since)]

    def _is_new(self, message: Message, is_last: bool) -> bool:
        if message.id in self._stored:
            return False
        if message.role == "tool":
            return message.tool_call_id in self._calls
        return is_last and message.role in _SPEAKERS

    def _after(self, message_id: str) -> str | None:
        """The id of the message that the thread has after this one."""
        ids = list(self._stored)
        index = ids.index(message_id) + 1
        return ids[index] if index < len(ids) else None
