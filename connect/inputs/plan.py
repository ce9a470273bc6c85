"""Decides what kind of run an input asks for, given the state of its thread: `plan`. Pure; how a run is started is
decided elsewhere.

    waits for an answer --some answered--> Resume     (`more`: new messages are run after it); a result for a call that
                                                      waits for the page is an answer too
                        --breakpoint-----> GoOn, or Drop if the client cancelled it
                        --page's results-> GoOn   at a breakpoint, with the results
                        --no answer------> Wait       nothing runs; the client receives the interrupts
    else                --an edit--------> Fork       from the checkpoint before it; `forking` checks that it is an edit
                        --page's results-> Resume     if calls wait for the page (`PageTools`)
                        --something new--> Begin      or Fork, if messages that are left out count as taken back
                                         > Collect    these are results of the page, and more of its calls wait for one
                        --nothing new----> Again      the list ends in a question, and the thread continues after it:
                                                      the question is answered again
                                         > Nothing    the same, but the question or part of its answer was added to the
                                                      thread while the input waited, by a run for the same request
                                         > GoOn       the last run left work undone, which is tried again
                                         > Nothing    everything is done: an answer without a question, a repeated
                                                      request, a client that lacks the end of what was emitted, calls
                                                      that wait for the front end's results (if the graph's input takes
                                                      messages), a result for a call that no longer waits for one
                                         > Begin      the graph runs without messages

What is new? A client sends everything that it has. That may be less than the thread has, or include messages that the
thread has removed.

1. If the thread has no checkpoint, everything is new, even assistant messages: a client may bring a conversation.
2. Otherwise, messages of the roles user, system and developer are new if they come after the last message that is
   stored or from an assistant. Earlier ones were in the thread once and have been removed. An assistant message that
   the thread lacks is never new. The client has received it from a run that emitted it without saving it, because the
   graph keeps no messages, the node waits, or the run broke off.
3. A tool result is new, at any position, if its call waits for a result and the graph does not run the tool itself.
   Only the graph gives results of its own tools, even of calls that were stopped. All other results are ignored. At a
   breakpoint, results are an answer if every waiting call has one, and each call is of a tool that the page has
   declared and the graph does not run. Any other call may need the decision of a human at the breakpoint. If the
   graph's tools are not known, the owner names the page's tools (`Intake.page_tools`).
   A call also waits if the graph has continued without its result, in the last turn, and the page has declared the
   tool. CopilotKit's `CopilotKitMiddleware` lets the model continue when it has called tools of the server and of the
   page in one message. `graph_input` stores the result next to its call.
   That middleware also takes the page's calls out of the message until the agent ends, and an agent in a subgraph has
   messages that the thread lacks. While such a thread waits or has failed, a result of a declared tool waits too
   (`held`), and is run after the answer (`more`).
   A page may send the results of several calls one by one. The graph runs when all of them have come. Until then, the
   results that have come are stored (`Collect`). The thread waits only for results of tools that the page has declared,
   and only until the user's next message.
4. A page may also add a pair at the end: an assistant message with calls, and a result for each of them. The thread
   must not have any of them, `Intake.page_calls` must name the tools, and the graph must not have them. Apart from its
   calls, the content of the assistant message is ignored. While the thread waits, no pair is accepted. (A pair of any
   other tool may come from a run that emitted it without saving it, or may be made up.)
5. A message with a known id and other content is an edit, unless the thread once had that content. Only messages of
   users can be edited. While an interrupt is pending, edits wait, as new messages do.
6. A call that waits for the page (`ThreadState.page_calls`) takes a result that names it from any client, even
   from one that does not declare the tool. It blocks nothing: a new message of a user answers it as not run. If the
   thread's own messages have the call, that is a turn with the results and the message, for which the model is called
   once. If a graph inside the thread has made the call, that graph continues with the results first, and the message is
   run after it (`more`). If the graph then waits for the page again, the message begins a turn all the same.
7. If the graph's input takes no messages, it is not known which messages the thread has received, and another run would
   not receive them either. So no message is new while the thread waits, or in an input with an answer. In any other
   input, a message runs the graph, but only once for the same run id.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from ag_ui.core import AssistantMessage, Message, RunAgentInput, ToolMessage

from ...translator import message_ids, to_agui_messages, unanswered_calls
from .answers.resume import Answers, answers, is_answering, log_ignored
from .intake import Intake
from .messages import as_json, is_from_user, left_unanswered, same_content, to_graph_messages
from .thread_state import ThreadState

_SPEAKERS = ("user", "system", "developer")
_ASKS = ("user", "tool")


@dataclass(frozen=True, slots=True)
class Begin:
    """A turn from the start of the graph, with these messages."""

    messages: Sequence[Message] = ()


@dataclass(frozen=True, slots=True)
class Collect:
    """Nothing runs: these results of the page's tools are stored, because more of its calls wait for a result."""

    results: Sequence[Message]


@dataclass(frozen=True, slots=True)
class Resume:
    """The waiting run continues with these answers, by interrupt id."""

    values: dict[str, Any]
    more: bool = False
    """Whether the input also has new messages or an edit. They are a run of their own, after this one has succeeded."""


@dataclass(frozen=True, slots=True)
class GoOn:
    """The work that the last run left undone is done."""

    more: bool = False
    results: Sequence[Message] = ()
    """The results of the page's tools that the run waits for."""


@dataclass(frozen=True, slots=True)
class Drop:
    """The work that the last run left undone is dropped."""

    more: bool = False


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing runs, because the thread waits for an answer."""

    message_ids: tuple[str, ...] = ()
    """The ids of new or edited messages, which wait too."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """Nothing runs, because what the input asks for is already done."""

    late: tuple[str, ...] = ()
    """The ids of calls whose results came too late, because the thread has another result or continued without one."""


@dataclass(frozen=True, slots=True)
class Fork:
    """A turn with these messages, from the newest checkpoint that lacks the message `before`."""

    before: str
    messages: Sequence[Message] = ()
    edited: Message | None = None
    """The message that is an edit, unless the thread once had its content."""


@dataclass(frozen=True, slots=True)
class Again:
    """A turn is run again, from the oldest checkpoint in which the message `after` is the last."""

    after: str

    def as_fork(self, run_input: RunAgentInput) -> Fork:
        """Returns the fork that does the same if there is no such checkpoint: a turn with the question, from before
        it."""
        return Fork(self.after, [message for message in run_input.messages if message.id == self.after])


@dataclass(frozen=True, slots=True)
class GoBack:
    """The thread continues at an earlier checkpoint, which the client names; see `time_travel`. `submission` makes this
    plan, and `plan` never returns it."""


Plan = Begin | Collect | Resume | GoOn | Drop | Wait | Nothing | Fork | Again | GoBack


def plan(
    run_input: RunAgentInput,
    state: ThreadState,
    intake: Intake,
    *,
    unedited: Collection[str] = (),
    follows: bool = False,
    before: Sequence[str] | None = None,
    takes_messages: bool = True,
) -> Plan:
    """Returns what kind of run the input asks for.

    Args:
        run_input: The input of the client.
        state: The state of the thread.
        intake: What the owner allows the input to do.
        unedited: Ids of messages whose content differs, but is content that the thread once had.
        follows: Whether the answers in the input were already run, so that only its new messages are left.
        before: The ids of the thread's messages when the input arrived, if they may differ from those in `state`.
        takes_messages: Whether the graph's input has a channel for messages.

    Raises `InvalidInputError` if an answer does not say which of several questions it answers.
    """
    run_input = run_input.model_copy(update={"messages": _with_ids_of_their_own(run_input.messages)})
    is_asked = state.waits or is_answering(run_input)
    page_calls = () if is_asked or run_input.run_id == state.run_id else intake.page_calls
    declared = {tool.name for tool in run_input.tools or ()} - set(state.own_tools)
    messages = run_input.messages if takes_messages or not is_asked else ()
    client = _Messages(messages, state, intake.roles, page_calls, declared)
    edit = client.find_edit(unedited)
    of_page = _results_of_page(run_input, state, intake.roles)
    if state.waits:
        answer = answers(run_input, state, intake.answer_cancelled)
        results = client.results_of(declared, state, intake.page_tools)
        return _plan_answer(replace(answer, values={**of_page, **answer.values}), client, edit, results, state)
    if is_answering(run_input) and run_input.run_id != state.run_id:
        log_ignored(run_input)
    if edit is not None:
        return Fork(edit.id, [edit, *client.new_after(edit)], edit)
    if state.page_calls and (resume := _plan_page_calls(of_page, client, state, follows=follows)) is not None:
        return resume
    if client.new and run_input.run_id == state.run_id and not state.messages and not state.is_new:
        return GoOn() if state.is_unfinished else Nothing()
    if client.new:
        fork = client.first_missing() if intake.shortened == "fork" else None
        if fork is None and not (state.is_unfinished or state.has_failed) and client.lacks_results:
            return Collect(client.new)
        return Begin(client.new) if fork is None else Fork(fork, client.new)
    if follows:
        return Nothing()
    return _plan_without_news(run_input, client, state, before, takes_messages)


def _with_ids_of_their_own(messages: Sequence[Message]) -> list[Message]:
    """Returns the messages with another id for each that has the id of an earlier one, if the two are not both results
    of one call, or both none. Of messages with one id a thread keeps the last, so a call would be left without its
    result, and models refuse such a conversation."""
    calls: dict[str, str | None] = {}
    unique = list[Message]()
    for message in messages:
        call = message.tool_call_id if isinstance(message, ToolMessage) else None
        is_own = calls.setdefault(message.id, call) == call
        unique.append(message if is_own else message.model_copy(update={"id": f"{message.id}-{call or message.role}"}))
    return unique


def _plan_without_news(
    run_input: RunAgentInput,
    client: _Messages,
    state: ThreadState,
    before: Sequence[str] | None,
    takes_messages: bool,
) -> Plan:
    answering = is_answering(run_input)
    again = None if answering else client.last_question()
    if again is not None:
        is_done = run_input.run_id == state.run_id or (before is not None and client.is_answered_since(before))
        return Nothing() if is_done else Again(again)
    if state.is_unfinished and (state.has_failed or not (answering or state.page_calls)):
        return GoOn(more=bool(client.held))
    if answering or client.is_behind() or state.page_calls or (client.waits_for_results and takes_messages):
        return Nothing()
    late = client.late_results()
    return Nothing(late) if late or run_input.run_id == state.run_id else Begin()


def _plan_answer(
    answer: Answers, client: _Messages, edit: Message | None, results: Sequence[Message], state: ThreadState
) -> Plan:
    waiting = [*([] if edit is None else [edit]), *client.new, *client.held]
    more = any(not _is_result_for(state.page_calls, message) for message in waiting)
    if answer.values:
        return Resume(dict(answer.values), more)
    if answer.continues is False:
        return Drop(more)
    if answer.continues or results:
        return GoOn(len(waiting) > len(results), results)
    return Wait(tuple(message.id for message in waiting))


def _plan_page_calls(results: dict[str, Any], client: _Messages, state: ThreadState, *, follows: bool) -> Resume | None:
    """Returns how a thread continues that waits for nothing but the page (rule 6); None if it is planned as if it did
    not wait. `results`: those of the page, by interrupt id."""
    calls = state.page_calls
    if all(_is_result_for(calls, message) for message in client.new):
        return Resume(results) if results else None
    if follows or client.has_calls(calls):
        return None
    not_run = {interrupt_id: as_json(left_unanswered(call_id, "")) for call_id, interrupt_id in calls.items()}
    return Resume({**not_run, **results}, more=True)


def _results_of_page(run_input: RunAgentInput, state: ThreadState, roles: Collection[str]) -> dict[str, Any]:
    """Returns the answers to the interrupts at which calls wait for the page, by interrupt id: the results in an input,
    as JSON. Of several results for a call, the last one counts."""
    stored = set(message_ids(state.messages)) if state.page_calls else ()
    results = {
        state.page_calls[message.tool_call_id]: message
        for message in run_input.messages
        if isinstance(message, ToolMessage) and message.tool_call_id in state.page_calls
        if message.role in roles and message.id not in stored
    }
    return {interrupt_id: as_json(to_graph_messages([message])[0]) for interrupt_id, message in results.items()}


def _is_result_for(calls: Collection[str], message: Message) -> bool:
    return isinstance(message, ToolMessage) and message.tool_call_id in calls


class _Messages:
    """The messages of a client, compared with those of the thread."""

    def __init__(
        self,
        messages: Sequence[Message],
        state: ThreadState,
        roles: Collection[str],
        page_calls: Collection[str],
        declared: Set[str],
    ) -> None:
        self._stored = dict(zip(message_ids(state.messages), state.messages, strict=True))
        self._sent = [message for message in messages if message.role in roles]
        calls = unanswered_calls(state.messages)
        self._waiting = calls
        of_turn = unanswered_calls(state.messages, of_turn=True)
        self._of_page = {call_id for call_id, name in of_turn if name in declared}
        self._calls = {call_id for call_id, name in calls if name not in state.own_tools} | self._of_page
        self._declared = declared
        self._known = {*state.page_calls, *(call_id for call_id, _ in of_turn)}
        self.waits_for_results = bool(calls) or bool(self._of_page)
        """Whether the thread ends with unanswered calls, or its last turn has unanswered calls of the page's tools."""
        pair = self._pair_of_page(set(page_calls) - set(state.own_tools), {call_id for call_id, _ in calls})
        self.new = list(self._sent) if state.is_new else self._find_new(len(self._sent) - len(pair)) + pair
        """The new messages, in the client's order."""

    def find_edit(self, unedited: Collection[str]) -> Message | None:
        """Returns the first message of a user that is stored with other content."""
        for message in self._sent:
            is_candidate = message.role == "user" and message.id in self._stored and message.id not in unedited
            if is_candidate and not same_content(self._stored[message.id], message):
                return message
        return None

    def results_of(self, declared: Set[str], state: ThreadState, named: Collection[str]) -> list[Message]:
        """Returns the results with which a run continues at a breakpoint. They are the results of all waiting calls, if
        each call is of a tool that the page has declared and the graph does not run itself, and otherwise none.
        `declared` are those tools, and `named` the tools in `Intake.page_tools`."""
        allowed = declared if state.knows_tools else declared & set(named)
        answered = {message.tool_call_id for message in self.new if message.role == "tool"}
        is_whole = all(name in allowed and call_id in answered for call_id, name in self._waiting)
        is_answer = is_whole and self._waiting and state.is_stopped and not state.interrupts
        return [message for message in self.new if message.role == "tool"] if is_answer else []

    @property
    def held(self) -> list[Message]:
        """The results of the page's tools at the end of the client's list whose calls the thread does not show yet
        (rule 3)."""
        names = {
            call.id: call.function.name
            for message in self._sent
            if isinstance(message, AssistantMessage)
            for call in message.tool_calls or ()
        }
        results = [message for message in self._last_results() if names.get(message.tool_call_id) in self._declared]
        results = [message for message in results if message.tool_call_id not in self._known]
        stored = to_agui_messages(list(self._stored.values())) if results else ()
        answered = {message.tool_call_id for message in stored if message.role == "tool"}
        return [message for message in results if message.tool_call_id not in answered]

    @property
    def lacks_results(self) -> bool:
        """Whether the new messages are only results, and other calls of the page's tools still have no result."""
        answered = {message.tool_call_id for message in self.new if message.role == "tool"}
        is_results = all(message.role == "tool" for message in self.new)
        return is_results and not self._of_page <= answered

    def has_calls(self, call_ids: Collection[str]) -> bool:
        """Whether these calls are among the unanswered ones of the thread's own messages."""
        return set(call_ids) <= {call_id for call_id, _ in self._waiting}

    def new_after(self, edit: Message) -> list[Message]:
        """Returns the new messages of users, systems and developers that follow an edited message."""
        since = next(index for index, message in enumerate(self._sent) if message is edit)
        later = {id(message) for message in self._sent[since:]}
        return [message for message in self.new if message.role in _SPEAKERS and id(message) in later]

    def last_question(self) -> str | None:
        """Returns the id of the question that ends the client's list, if the thread has messages after it."""
        last = self._question()
        return None if last is None or self._after(last.id) is None else last.id

    def is_answered_since(self, before: Sequence[str]) -> bool:
        """Whether a run for the same question answered the question that ends the client's list, or continued its
        answer, after the thread had the messages with the ids `before`."""
        last = self._question()
        if last is None:
            return False
        old, ids = set(before), list(self._stored)
        answer = takewhile(lambda id_: not is_from_user(self._stored[id_]), ids[ids.index(last.id) + 1 :])
        return any(message_id not in old for message_id in answer)

    def is_behind(self) -> bool:
        """Whether the client lacks the end of the thread, or the end of its last message."""
        last = next((message for message in reversed(self._sent) if message.id in self._stored), None)
        if last is None:
            return False
        return self._after(last.id) is not None or not same_content(self._stored[last.id], last)

    def late_results(self) -> tuple[str, ...]:
        """Returns the ids of the calls whose results end the client's list, if none of these results is new or
        stored."""
        return tuple(message.tool_call_id for message in self._last_results())

    def _last_results(self) -> list[ToolMessage]:
        """Returns the results that end the client's list and are not stored. Messages of systems and developers among
        them are skipped."""
        results: list[ToolMessage] = []
        for message in reversed(self._sent):
            if isinstance(message, ToolMessage) and message.id not in self._stored:
                results.append(message)
            elif message.role not in ("system", "developer"):
                break
        return results[::-1]

    def first_missing(self) -> str | None:
        """Returns the id of the first stored message that the client lacks, after all messages that both have."""
        common = [message.id for message in self._sent if message.id in self._stored]
        return self._after(common[-1]) if common else next(iter(self._stored), None)

    def _question(self) -> Message | None:
        """Returns the message that ends the client's list, if it asks for an answer and the thread has it."""
        last = next((message for message in reversed(self._sent) if message.role not in ("system", "developer")), None)
        return None if last is None or last.role not in _ASKS or last.id not in self._stored else last

    def _pair_of_page(self, names: Collection[str], waiting: Collection[str]) -> list[Message]:
        """Returns the messages that end the client's list if they are calls of the tools `names` with their results,
        else an empty list. `waiting` are the ids of calls that wait for a result. A page can't add one of those, since
        it would thereby add its result."""
        last = next((index for index, message in reversed(list(enumerate(self._sent))) if message.role != "tool"), 0)
        pair = self._sent[last:]
        calls = [call for message in pair if isinstance(message, AssistantMessage) for call in message.tool_calls or ()]
        answered = sorted(message.tool_call_id for message in pair if isinstance(message, ToolMessage))
        if not calls or answered != sorted(call.id for call in calls) or len(set(answered)) < len(calls):
            return []
        is_allowed = all(call.function.name in names and call.id not in waiting for call in calls)
        if not is_allowed or any(message.id in self._stored for message in pair):
            return []
        return [
            message.model_copy(update={"content": ""}) if isinstance(message, AssistantMessage) else message
            for message in pair
        ]

    def _find_new(self, end: int) -> list[Message]:
        """Returns the new ones among the first `end` messages."""
        messages = self._sent[:end]
        old = [
            index for index, message in enumerate(messages) if message.id in self._stored or message.role == "assistant"
        ]
        since = old[-1] + 1 if old else 0
        return [message for index, message in enumerate(messages) if self._is_new(message, index >= since)]

    def _is_new(self, message: Message, is_last: bool) -> bool:
        if message.id in self._stored:
            return False
        if message.role == "tool":
            return message.tool_call_id in self._calls
        return is_last and message.role in _SPEAKERS

    def _after(self, message_id: str) -> str | None:
        """Returns the id of the stored message that follows this one."""
        ids = list(self._stored)
        index = ids.index(message_id) + 1
        return ids[index] if index < len(ids) else None
