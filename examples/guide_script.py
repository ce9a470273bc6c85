"""What the guide's model says: the script of `examples/guide.py`, in place of a provider's model.

The user's words choose the scene; how far it is played is read off the messages. The budget is read off the system
prompt, as a model would read it.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph_agui.connect.testing import ScriptedChatModel, reasoning, tool_call, usage

PRICES = {"Belém Tower": 10, "Tile Museum": 12, "Tram 28": 4, "Castle": 17}
"""What a ticket costs, in euros."""

_TIMES = {"Belém Tower": "09:30", "Tram 28": "13:00", "Tile Museum": "16:00"}
_STEPS = ("Compare the tickets", "Fill the day with what the budget allows")
_WAYS = {
    "Belém Tower": "Tram 15 takes you there along the river.",
    "Tile Museum": "Bus 794 stops at its door.",
    "Castle": "Tram 28 stops below its walls.",
}
_OFFICE = ConnectionError("the booking office does not answer")

Rest = Callable[[str, int], Awaitable[None]]
"""Waits for so many tokens' time, at a point that has a name. Tests hold a run at a point."""
Turn = list[Any]
Scene = Callable[["Seen"], list[Turn]]


class Seen:
    """What a model reads of a conversation: the last question, what has followed it, and the budget."""

    def __init__(self, messages: Sequence[BaseMessage]) -> None:
        asked = max((at for at, message in enumerate(messages) if isinstance(message, HumanMessage)), default=0)
        self.question = messages[asked].text.lower()
        self.turn = sum(isinstance(message, AIMessage) for message in messages[asked:])
        self.result = messages[-1].text if isinstance(messages[-1], ToolMessage) else ""
        self.id = f"call_{len(messages)}"
        """Of the next tool call: no other in the conversation has it."""
        budget = re.search(r"budget is (\d+)", messages[0].text)
        self.budget = int(budget[1]) if budget else 40

    def call(self, name: str, index: int = 0, **arguments: Any) -> list[Any]:
        """A call of a tool."""
        return tool_call(name, arguments, f"{self.id}_{index}", index=index, fragments=6)


def _plan(seen: Seen) -> list[Turn]:
    chosen = list(_affordable(seen.budget))
    spent = sum(PRICES[place] for place in chosen)
    stops = [
        step
        for index, place in enumerate(chosen, 1)
        for step in seen.call("add_stop", index, place=place, at=_TIMES[place], cost=PRICES[place])
    ]
    return [
        [
            reasoning("Prices decide what fits, and the sky what comes first. I ask for all of them at once."),
            f"A day in Lisbon for {seen.budget} euros. I compare the tickets first.",
            *_todos(seen, 0),
        ],
        [*seen.call("compare_tickets", places=list(PRICES))],
        ["The morning is clear and rain comes at four: outdoors first.", *_todos(seen, 1), *stops],
        [*_todos(seen, 2)],
        [
            f"Your day is planned: {_listed(chosen)}. That is {spent} of your {seen.budget} euros. "
            "Shall I book the tower, or show it to you on the map?"
        ],
    ]


def _todos(seen: Seen, done: int) -> list[Any]:
    """A call that writes down what is done of a plan, and what comes next."""
    statuses = ["completed" if at < done else "in_progress" if at == done else "pending" for at in range(len(_STEPS))]
    todos = [{"content": step, "status": status} for step, status in zip(_STEPS, statuses, strict=True)]
    return seen.call("write_todos", todos=todos)


def _affordable(budget: int) -> Iterator[str]:
    for place in _TIMES:
        if PRICES[place] <= budget:
            budget -= PRICES[place]
            yield place


def _listed(places: Sequence[str]) -> str:
    if not places:
        return "a walk along the river, which costs nothing"
    return f"{', '.join(places[:-1])} and {places[-1]}" if len(places) > 1 else places[0]


def _book(seen: Seen) -> list[Turn]:
    is_booked = "is booked" in seen.result
    ending = "It is done. You find it in your plan." if is_booked else "Then I leave it. The plan stays as it is."
    return [
        [
            "There are tickets left for half past nine.",
            *seen.call("book", place="Belém Tower", at="09:30", people=2),
        ],
        [ending],
    ]


def _map(seen: Seen) -> list[Turn]:
    place = "Tile Museum" if "museum" in seen.question else "Castle" if "castle" in seen.question else "Belém Tower"
    return [
        ["This is the place that I mean.", *seen.call("show_on_map", place=place)],
        [f"You see {place} on the map now. {_WAYS[place]}"],
    ]


def _briefing(seen: Seen) -> list[Turn]:
    return [
        ["Good morning. I look at today's prices.", *seen.call("compare_tickets", places=["Belém Tower", "Castle"])],
        [
            "The tower costs what it did yesterday, the castle opens an hour later. The sky stays clear until four. "
            "Nothing in your plan has to change."
        ],
    ]


def _fail(seen: Seen) -> list[Turn]:
    return [["I call the booking office. It rings", _OFFICE]]


def _say(seen: Seen) -> list[Turn]:
    return [
        ["My model is scripted: I can plan a day, book the tower, show a place on the map, or fail at a phone call."]
    ]


_SCENES: dict[str, Scene] = {
    r"\bcall\b|phone|fail": _fail,
    r"briefing|today|news?\b": _briefing,
    r"book|reserve": _book,
    r"map|where|show": _map,
    r"plan|\bday\b|budget": _plan,
}
"""By the words of a question; the first that fits."""


def resting(pause: float) -> Rest:
    """`pause` seconds for each token."""

    async def rest(point: str, tokens: int) -> None:
        await asyncio.sleep(pause * tokens)

    return rest


PACE = resting(0.03)
"""That of a model that is not in a hurry."""


class ScriptedGuide(ScriptedChatModel):
    """A model that plays the scene that the user's words ask for; before each token it rests, at `plan 0 5`: the sixth
    token of the first turn of the scene `plan`."""

    turns: Sequence[Any] = ()
    rest: Rest

    def script(self, messages: Sequence[BaseMessage]) -> Any:
        """The steps of the turn that answers these messages."""
        seen = Seen(messages)
        scene = next((scene for words, scene in _SCENES.items() if re.search(words, seen.question)), _say)
        turns = scene(seen)
        turn = min(seen.turn, len(turns) - 1)
        spoken = ScriptedChatModel(turns=[[*turns[turn], usage()]]).script([])
        name = f"{scene.__name__.strip('_')} {turn}"
        return [each for at, step in enumerate(spoken) for each in (partial(self.rest, f"{name} {at}", 1), step)]
