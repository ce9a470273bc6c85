"""`Machine`: a thread in a run database under everything that may happen to it, in any order, beside a model: claims,
entries, ends and readers; answers that are lost, commands that are carried out late; leases that expire, outages, a
database that forgets. What is a fault of no database in memory is not done to one.

Rules that hold at any moment:

1. A claim is granted only for a thread without a run, or whose run is lost: its lease is over, and the process that
   asks has been in contact with the database for half a lease; or its owner has handed it over, and the claim continues
   it, or nobody has for some leases. What has a lower fence than a granted claim is refused.
2. The newest owner is never refused, unless somebody else has claimed the thread, or it has handed its run over.
3. A reader's text is a beginning of what the owner has emitted: nothing is missing, twice, or only an end.
4. How a run ended is what the last run's end said, whatever comes late.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule
from langgraph_agui.connect.events.readers import Reader
from langgraph_agui.connect.local.store.active_run import LastRun, ThreadKey
from langgraph_agui.connect.local.store.background import Background
from langgraph_agui.connect.local.store.followed_run import FollowedRun
from langgraph_agui.connect.local.store.logs import Logs
from langgraph_agui.connect.local.store.records import MORE, SNAPSHOT, Claim, Entry, RunEnd
from langgraph_agui.connect.local.store.run_database import Append, Appended, Claimed, Own
from langgraph_agui.translator import ClientView, Finished, Options, encode, events

from tests.support.servers.databases.run_databases import SharedRuns

THREAD = ThreadKey("n", "t")
PROCESS = "p"
OPTIONS = Options(protocol_version="1.0", first_state="delta")
_Got = TypeVar("_Got")


@dataclass
class Owner:
    """A run as its process has it."""

    own: Own
    claim: Claim
    view: ClientView = field(default_factory=lambda: ClientView(messages=[], version="1.0"))
    number: int = 0
    """Of its last entry."""
    emitted: int = 0
    kind: str = SNAPSHOT
    has_ended: bool = False

    def emit(self) -> list[dict[str, Any]]:
        """Its next events."""
        if not self.emitted:
            made = [events.run_started("t", self.claim.run_id, "1.0"), events.text_start("m")]
        else:
            made = [events.text_content("m", f"{self.emitted} ")]
        for event in made:
            self.view.apply(event)
        self.emitted += len(made)
        return made

    def entry(self) -> Entry:
        """What it emits next, or a snapshot with it."""
        made = self.emit()
        if self.kind == SNAPSHOT:
            made = Reader(OPTIONS).catch_up(self.view)
        frames = b"".join(encode(event) for event in made)
        return Entry(self.own.fence, self.number + 1, self.kind, self.emitted, frames)

    @property
    def last(self) -> RunEnd:
        return RunEnd(LastRun(self.claim.run_id, datetime.now(UTC), Finished(), False, False, self.own.fence))


def text(view: ClientView) -> str:
    """What a view has of the message."""
    return str(view.messages[-1]["content"]) if view.messages else ""


def _is_shared(machine: "Machine") -> bool:
    """Whether the database can lose its data, and processes their contact to it."""
    return not machine.shared.is_of_one_process


class Machine(RuleBasedStateMachine):
    """A subclass says which database, by `shared`."""

    shared: SharedRuns

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.ask(self.shared.empty)
        self.database = self.shared.database(PROCESS, Background(), lambda _: None)
        self.logs = Logs(self.database, Background())
        self.owners: list[Owner] = []
        self.readers: list[tuple[Owner, FollowedRun]] = []
        self.sent: list[Callable[[], Coroutine[Any, Any, Any]]] = []
        self.claims = self.top = 0
        """The highest fence that the database knows."""
        self.last: str | None = None
        self.freed: str | None = None
        """The run that freed the thread last: nothing of it may come again."""
        self.run: Literal["valid", "over", "handed over"] | None = None
        """Whether the thread's run has its lease; None: it has ended, or there is none."""
        self.handed_over: set[int] = set()
        self.is_known = False
        """Whether the database knows the thread."""
        self.contact: bytes | None = None
        """As the process knows it."""
        self.has_contact: Literal["for long", "again"] | None = "again"
        """Whether the database knows this contact, for half a lease or less; None: it has another one, or none."""
        self.was_emptied = False
        """Whether the database has lost its data, less than half a lease ago."""
        self.contact = self.keep()

    def teardown(self) -> None:
        self.ask(self.database.aclose)
        self.runner.close()

    # --- the commands ---------------------------------------------------------------------------------------------

    def keep(self, *, is_first: bool = True) -> bytes | None:
        contact = self.ask(lambda: self.database.keep_contact(is_first=is_first))
        assert (contact is None) == self.shared.is_of_one_process
        return contact

    def ask(self, command: Callable[[], Coroutine[Any, Any, _Got]]) -> _Got:
        async def asked() -> _Got:
            return await command()

        return self.runner.run(asked())

    def send(self, command: Callable[[], Coroutine[Any, Any, _Got]], times: int) -> _Got:
        """The answer to a command, which is sent again until one arrives; it may be carried out once more later."""
        self.sent.append(command)
        for _ in range(times):
            self.ask(command)
        return self.ask(command)

    @rule(lost=st.integers(0, 2), continues=st.booleans())
    def claim(self, lost: int, continues: bool) -> None:
        self.claims += 1
        continued = self.top if continues and self.run is not None else 0
        token, revision, contact = f"token-{self.claims}", continued or None, self.contact
        claim = Claim(f"run-{self.claims}", "a", "p", {}, continues=continued, has_input=True)
        waits = self.ask(lambda: self.database.lease_of(THREAD)).is_continuable and not continued
        answer = self.send(lambda: self.database.claim(THREAD, token, claim, contact, revision, b"input"), lost)
        may_have_run = not self.is_known and self.was_emptied
        if self.run == "over":
            may_have_run = self.has_contact != "for long"
        expected: type = Claimed
        if self.run == "valid" or (self.run == "handed over" and waits):
            expected = Claim
        elif may_have_run or self.has_contact is None:
            expected = float
        assert isinstance(answer, expected)
        if isinstance(answer, Claimed):
            assert answer.fence > self.top
            self.top = answer.fence
            self.run, self.is_known = "valid", True
            self.owners.append(Owner(Own(THREAD, answer.fence, token, claim), claim))

    async def append_entry(self, owner: Owner, entry: Entry | None, number: int) -> Appended:
        return (await self.database.append([Append(owner.own, "running", entry, number)]))[0]

    @precondition(lambda self: self.owners)
    @rule(which=st.integers(0, 9), lost=st.integers(0, 2))
    def append(self, which: int, lost: int) -> None:
        owner = self.owners[which % len(self.owners)]
        if owner.has_ended:
            return
        entry, number = owner.entry(), owner.number
        answer = self.send(lambda: self.append_entry(owner, entry, number), lost).answer
        assert (answer == "taken") == self.is_taken(owner)
        if answer != "taken":
            self.run, self.is_known = "valid", True
        if answer == "ok":
            owner.number, owner.kind, self.top = entry.number, MORE, owner.own.fence
        elif answer == "gap":
            owner.kind, self.top = SNAPSHOT, owner.own.fence
        else:
            owner.has_ended = True

    @precondition(lambda self: self.owners)
    @rule(which=st.integers(0, 9))
    def renew(self, which: int) -> None:
        owner = self.owners[which % len(self.owners)]
        if owner.has_ended:
            return
        number = owner.number
        answer = self.send(lambda: self.append_entry(owner, None, number), 0).answer
        assert (answer == "taken") == self.is_taken(owner)
        owner.has_ended = answer == "taken"
        if answer != "taken":
            self.run, self.is_known = "valid", True
            self.top = owner.own.fence
            owner.kind = owner.kind if answer == "ok" else SNAPSHOT

    @precondition(lambda self: self.owners)
    @rule(which=st.integers(0, 9), lost=st.integers(0, 2))
    def end(self, which: int, lost: int) -> None:
        owner = self.owners[which % len(self.owners)]
        if owner.has_ended:
            return
        owner.has_ended, last, is_taken = True, owner.last, self.is_taken(owner)
        is_freed = self.send(lambda: self.database.release(owner.own, last), lost)
        assert is_freed == (not is_taken)
        if is_freed:
            assert self.ask(lambda: self.database.lease_of(THREAD)).state == "free"
            self.run, self.is_known = None, True
            self.top, self.last = owner.own.fence + 1, owner.claim.run_id
            self.freed = self.last

    @precondition(lambda self: self.owners)
    @rule(which=st.integers(0, 9), lost=st.integers(0, 2))
    def hand_over(self, which: int, lost: int) -> None:
        """Its owner may still have commands to send."""
        owner = self.owners[which % len(self.owners)]
        if owner.has_ended:
            return
        is_handed_over = owner.own.fence == self.top and self.run == "handed over"
        is_taken = self.is_taken(owner) and not is_handed_over
        is_lost = self.send(lambda: self.database.hand_over(owner.own), lost)
        assert is_lost == (not is_taken)
        if is_lost:
            assert self.ask(lambda: self.database.lease_of(THREAD)).state == "lost"
            self.run, self.is_known, self.top = "handed over", True, owner.own.fence
            self.handed_over.add(owner.own.fence)

    def is_taken(self, owner: Owner) -> bool:
        """Whether a command of a run is refused."""
        return owner.own.fence < self.top or (owner.own.fence == self.top and self.run == "handed over")

    @precondition(lambda self: self.owners)
    @rule(which=st.integers(0, 9))
    def join(self, which: int) -> None:
        owner = self.owners[which % len(self.owners)]
        ignore: dict[str, Any] = {"on_lost": lambda *_: None, "on_continued": lambda _: None}
        run = FollowedRun(self.database, self.logs, THREAD, owner.own.fence, owner.claim, **ignore)
        self.readers.append((owner, run))

    @rule()
    def read(self) -> None:
        for _, run in self.readers:
            self.ask(run._read_log)

    @precondition(lambda self: self.sent)
    @rule(which=st.integers(0, 99))
    def carry_out_late(self, which: int) -> None:
        """A command that was sent before is carried out, again or at last; nothing waits for its answer."""
        self.ask(self.sent[which % len(self.sent)])
        now = self.ask(lambda: self.database.lease_of(THREAD))
        self.run, self.is_known = None, now.fence > 0
        if now.claim is not None:  # a claim that was given up may leave a lease: then the others are refused
            assert now.claim.run_id != self.freed
            self.top = max(self.top, now.fence)
            self.run = "valid" if now.state == "valid" else "handed over" if now.fence in self.handed_over else "over"

    @precondition(_is_shared)
    @rule()
    def lose_lease(self) -> None:
        if self.run is not None:
            self.ask(lambda: self.shared.end_lease(THREAD))
            self.run = "handed over" if self.run == "handed over" else "over"

    @precondition(_is_shared)
    @rule()
    def lose_contact(self) -> None:
        """An outage, or a pause of the process."""
        self.ask(lambda: self.shared.end_contact(PROCESS))
        self.has_contact = None

    @precondition(_is_shared)
    @rule()
    def lose_run(self) -> None:
        """Its lease is over, while the process is in contact."""
        self.lose_lease()
        self.keep_contact(for_long=True)

    @precondition(_is_shared)
    @rule(for_long=st.booleans())
    def keep_contact(self, for_long: bool) -> None:
        """The process is in contact again, or for half a lease by now."""
        self.contact = self.keep(is_first=False)
        self.has_contact = self.has_contact or "again"
        if for_long:
            self.contact = self.ask(lambda: self.shared.age_contact(PROCESS))
            self.has_contact, self.was_emptied = "for long", False

    @precondition(lambda self: self.owners)
    @rule(which=st.integers(0, 9))
    def lose_newest_entry(self, which: int) -> None:
        """A failover that loses the last write."""
        fence = self.owners[which % len(self.owners)].own.fence
        self.ask(lambda: self.shared.drop_newest(THREAD, fence))

    @precondition(_is_shared)
    @rule()
    def forget_all(self) -> None:
        """The database comes back empty, and what was sent before is lost with it."""
        self.ask(self.shared.empty)
        self.top, self.last, self.freed, self.sent, self.handed_over = 0, None, None, [], set()
        self.run, self.is_known, self.has_contact, self.was_emptied = None, False, None, True

    def check_invariants(self, *given: Any, **more: Any) -> None:
        super().check_invariants(*given, **more)
        for owner, run in self.readers:
            assert text(owner.view).startswith(text(run._view))
        end = self.ask(lambda: self.database.lease_of(THREAD)).last
        assert (None if end is None else end.last.run_id) == self.last
