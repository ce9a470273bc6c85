"""What a process that was frozen writes to the database when it continues, and another process has its thread.

The bound: no checkpoint but the one that was being written. Of each node that was running LangGraph may still write the
result or the cancellation, next to the last checkpoint of its own run, where no later run looks.
"""

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from psycopg import AsyncConnection

from tests.support.servers.gates import Gates
from tests.support.servers.processes.several import SHORT, Processes

AUDIT = """
CREATE TABLE written (number bigserial, checkpoint_id text, kind text, task_id text);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO written (checkpoint_id, kind, task_id)
    VALUES (NEW.checkpoint_id, TG_TABLE_NAME, to_jsonb(NEW)->>'task_id');
  RETURN NEW;
END $$;
CREATE TRIGGER noted AFTER INSERT OR UPDATE ON checkpoints FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER noted AFTER INSERT OR UPDATE ON checkpoint_writes FOR EACH ROW EXECUTE FUNCTION note();
"""
WRITTEN = """
SELECT DISTINCT kind, checkpoint_id, task_id FROM written JOIN checkpoints USING (checkpoint_id)
WHERE metadata->>'run_id' = 'run-1' AND number > %s
"""


@asynccontextmanager
async def asking(database: str) -> AsyncIterator[AsyncConnection]:
    async with await AsyncConnection.connect(database, autocommit=True) as connection:
        yield connection


@pytest.mark.parametrize(
    ("agent", "points", "being_written"),
    [("parallel", ("left over", "right over"), 0), ("chat", ("second over",), 1)],
    ids=["all its nodes return at once", "a checkpoint is being written"],
)
async def test_a_process_that_was_frozen_writes_no_checkpoint_but_the_one_that_was_being_written(
    servers: Processes, gate: Gates, database: str, agent: str, points: tuple[str, ...], being_written: int
) -> None:
    one, other = await servers.start(2, lease=SHORT)
    held = [f"t run-1 {point}" for point in points]
    gate.hold("t run-1 first over", *held)
    async with asking(database) as connection, asking(database) as locking:
        await connection.execute(AUDIT)
        asks = one.run(agent, "t", "hi")
        if being_written:
            await gate.reached("t run-1 first over")
            await locking.execute("BEGIN; LOCK TABLE checkpoints IN SHARE ROW EXCLUSIVE MODE")
            gate.open("t run-1 first over")
        for point in held:
            await gate.reached(point)
        reads = other.connect(agent, "t")
        await reads.told("RUN_STARTED")
        one.send(signal.SIGSTOP)
        assert (await reads.over()).end == "unfinished"
        found = await (await connection.execute("SELECT coalesce(max(number), 0) FROM written")).fetchone()
        assert found is not None
        more = other.run(agent, "t", "hi", "and on", run_id="run-2")
        await more.answered()  # its run has the thread
        await locking.execute("COMMIT")
        assert (await more.over()).end == "success"
        values = await servers.values(agent, "t")
        gate.open("*")
        one.send(signal.SIGCONT)
        assert (await asks.over()).end == "unfinished"
        await one.client.get("/health")
        late = await (await connection.execute(WRITTEN, found)).fetchall()
        kinds = [kind for kind, _, _ in late]
        assert kinds.count("checkpoints") == being_written
        assert kinds.count("checkpoint_writes") <= len(points) + being_written  # also those of the node before
        assert await servers.values(agent, "t") == values
