"""Lists of threads whose checkpoints are in PostgreSQL."""

import asyncio
import logging
from typing import Any

import psycopg
import pytest
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph_agui.connect import Local, Runs
from psycopg_pool import AsyncConnectionPool

from .places import at_random, conversation, filled, listed, opened


@pytest.mark.parametrize("seed", range(2))
async def test_a_list_has_what_its_checkpointer_has(database: str, seed: int) -> None:
    await at_random("PostgreSQL", database, seed, steps=60)


async def test_two_processes_make_the_table_at_once_and_page_by_page(database: str) -> None:
    async with opened("PostgreSQL", database, 2) as (one, other):
        ids = await filled(one, 100, user="ann")
        sources = [Local(conversation(each), runs=Runs()).for_user("ann", {"user": "ann"}) for each in (one, other)]
        found = await asyncio.gather(*(listed(each, 30, metadata={"user": "ann"}) for each in sources))
        assert [[each[0] for each in one] for one in found] == [ids, ids]
        assert await listed(sources[0].for_user("bob", {"user": "bob"}), 30) == []


async def test_a_pool_of_connections_and_a_pipeline_are_used_as_by_the_saver(database: str) -> None:
    async with opened("PostgreSQL", database) as (saver,):
        ids = await filled(saver, 10)
    options: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0}
    async with AsyncConnectionPool(database, min_size=1, max_size=2, kwargs=options, open=False) as pool:
        pooled: Any = pool
        assert [each[0] for each in await listed(Local(conversation(AsyncPostgresSaver(pooled))), 4)] == ids
    async with AsyncPostgresSaver.from_conn_string(database, pipeline=True) as piped:
        source = Local(conversation(piped))
        assert [each[0] for each in await listed(source, 4)] == ids
        await conversation(piped).ainvoke({"messages": [("user", "a")]}, {"configurable": {"thread_id": "new"}})
        assert [each[0] for each in await listed(source, 4)] == ["new", *ids]


async def test_a_database_whose_user_may_make_no_table_is_listed_as_well(
    database: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened("PostgreSQL", database) as (saver,):
        ids = await filled(saver, 70)
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute("DROP ROLE IF EXISTS reader")
        owner.execute("CREATE ROLE reader")
        owner.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
        owner.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO reader")
    async with AsyncPostgresSaver.from_conn_string(database) as saver_of_reader:
        connection: Any = saver_of_reader.conn
        await connection.execute("SET ROLE reader")
        source = Local(conversation(saver_of_reader), runs=Runs())
        for _ in range(2):
            assert [each[0] for each in await listed(source, 30)] == ids
    lines = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
    assert ["can't be created" in each for each in lines] == [True]
