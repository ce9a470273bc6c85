"""What must hold of a run: sentences about what did not. No sentence is a good answer.

1. Every message that was answered, or shown to its page, is in its thread exactly once; every other one at most once.
2. One run at a time: its steps do not overlap with those of another run of the thread, but for the rest of the step in
   which its process was frozen, or starved, for longer than it could renew its lease.
3. What a run writes to its thread is together: after another run's first checkpoint at most one write of it lands, the
   one that was in flight when its process was frozen.
4. What a reader shows in the end is the thread.
5. If the runs of lost processes are continued, every message that is in its thread is answered by each step once; or by
   no more than that, if its page got an error, or if all processes that tried its run were lost.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph_agui.connect.local.run.run_input import MOST_LOSSES
from langgraph_agui.connect.testing.expected import comparable, expected

from tests.chaos.people import Page, Person

ANSWERS = 2
"""The messages with which the graph of the processes answers."""
Frozen = Sequence[tuple[int, float, float]]
"""When which process was frozen."""


def lost_and_doubled(pages: Iterable[Page], texts: Mapping[str, Sequence[str]]) -> list[str]:
    """Rule 1. `texts`: the ids of the users' messages of each thread."""
    wrong = []
    for page in pages:
        counts = Counter(texts[page.thread_id])
        for message in page.messages:
            times = counts[message.id]
            if times > 1 or (message.is_taken and not times):
                wrong.append(
                    f"{message.id} is in {page.thread_id} {times} times, and had the outcomes {message.outcomes}"
                )
    return wrong


def unanswered(
    pages: Iterable[Page], values: Mapping[str, Mapping[str, Any]], lines: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Rule 5, by the values of each thread, and by the journal."""
    pids: dict[str, set[int]] = {}
    for line in lines:
        if line["is"] != "alive":
            pids.setdefault(line["run"], set()).add(line["pid"])
    failed = {
        message.id
        for page in pages
        for message in page.messages
        if not {"success", "torn", "shutdown", "shown", "409", "503"}.issuperset(message.outcomes)
        or any(len(pids.get(run_id, ())) >= MOST_LOSSES for run_id in message.run_ids)
    }
    wrong = []
    for thread_id, state in values.items():
        kinds = [(message.type, str(message.id)) for message in state["messages"]]
        asked = [at for at, (kind, _) in enumerate(kinds) if kind == "human"]
        for at, end in zip(asked, [*asked[1:], len(kinds)], strict=True):
            id_, answers = kinds[at][1], end - at - 1
            if answers > ANSWERS or (answers < ANSWERS and id_ not in failed):
                wrong.append(f"{id_} in {thread_id} has {answers} answers, expected {ANSWERS}")
    return wrong


def starved(lines: Sequence[Mapping[str, Any]], seconds: float) -> list[tuple[int, float, float]]:
    """When a process got no time from the machine for so long: it is as if it was frozen."""
    last: dict[int, float] = {}
    gaps = []
    for line in lines:
        if line["is"] == "alive":
            since = last.get(line["pid"], line["at"])
            if line["at"] - since > seconds:
                gaps.append((line["pid"], since, line["at"]))
            last[line["pid"]] = line["at"]
    return gaps


def overlaps(lines: Sequence[Mapping[str, Any]], frozen: Frozen) -> list[str]:
    """Rule 2, by the journal."""
    wrong = []
    running: dict[str, dict[tuple[str, int, str], float]] = {}
    for line in sorted((line for line in lines if line["is"] != "alive"), key=lambda line: line["at"]):
        steps = running.setdefault(line["thread"], {})
        key = line["run"], line["pid"], line["step"]
        if line["is"] == "over":
            steps.pop(key, None)
            continue
        for (run, pid, step), since in list(steps.items()):
            if run == line["run"]:
                continue
            if not any(pid == one and begun <= line["at"] and until >= since for one, begun, until in frozen):
                wrong.append(
                    f"{line['thread']}: {line['run']} began {line['step']} in process {line['pid']} while {run} was in "
                    f"{step} in process {pid}, since {line['at'] - since:.2f} s"
                )
        steps[key] = line["at"]
    return wrong


def forget_dead(lines: Sequence[Mapping[str, Any]], ends: Mapping[int, float]) -> list[dict[str, Any]]:
    """The journal, with an end for the steps of processes that were killed. `ends`: when, by process."""
    open_steps: dict[tuple[Any, ...], Mapping[str, Any]] = {}
    for line in lines:
        if line["is"] == "alive":
            continue
        key = line["thread"], line["run"], line["pid"], line["step"]
        if line["is"] == "begun":
            open_steps[key] = line
        else:
            open_steps.pop(key, None)
    closed = [{**line, "is": "over", "at": ends[line["pid"]]} for line in open_steps.values() if line["pid"] in ends]
    return [*map(dict, lines), *closed]


async def late_writes(saver: AsyncPostgresSaver, thread_id: str, most: int = 1) -> list[str]:
    """Rule 3, by the checkpoints of a thread."""
    config: Any = {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}
    newest_first = [saved async for saved in saver.alist(config)]
    runs = [saved.metadata.get("run_id") for saved in reversed(newest_first)]
    seen, late = list[str](), Counter[str]()
    for run in (str(run) for run in runs if run is not None):  # what is saved of a run that failed has no run's id
        if run not in seen:
            seen.append(run)
        elif run != seen[-1]:
            late[run] += 1
    return [
        f"{thread_id}: {number} checkpoints of {run} came after those of another run"
        for run, number in late.items()
        if number > most
    ]


async def history(saver: AsyncPostgresSaver, thread_id: str) -> list[str]:
    """A thread's checkpoints, the oldest first, a line each: to find out what went wrong."""
    config: Any = {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}
    lines = []
    async for saved in saver.alist(config):
        parent = (saved.parent_config or {}).get("configurable", {}).get("checkpoint_id")
        messages = [message.id for message in saved.checkpoint["channel_values"].get("messages", ())]
        told = (saved.checkpoint["ts"], saved.checkpoint["id"], f"after {parent}", saved.metadata.get("source"))
        lines.append(f"{thread_id} {told} {saved.metadata.get('run_id')} {len(messages)} messages, {messages[-2:]}")
    return lines[::-1]


def shown(person: Person, values: Mapping[str, Any]) -> str | None:
    """Rule 4, for one reader: a sentence while it shows something else."""
    has = comparable(_of_people(person.view.messages))
    wanted = comparable(_of_people(expected(values).messages))
    if has == wanted:
        return None
    differs = next(at for at in count() if has[at : at + 1] != wanted[at : at + 1])
    return (
        f"{person.name} shows {len(has)} items for {person.thread_id}, expected {len(wanted)}; "
        f"at {differs} {str(has[differs : differs + 2])[:300]}, expected {str(wanted[differs : differs + 2])[:300]}"
    )


def _of_people(messages: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [message for message in messages if message["role"] != "activity"]
