"""Implements the command `replay`: serves a recording by the same routes that serve a graph."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlencode

from ...serve import Agent
from ...testing.recording import Recording
from ...testing.replay import Replay
from ..errors import Failure, Misuse
from ..serving.serve import ServeSettings, listen, serve_agents, set_logging


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaySettings:
    """The arguments of the command `replay`."""

    file: Path
    agent: str
    """The name of the agent that plays the recording."""
    speed: float | None
    """How many times faster than recorded; None means without pauses."""
    serve: ServeSettings
    """The address to serve on, and who may use it."""


async def replay_until_stopped(settings: ReplaySettings) -> None:
    """Serves a recording until a signal arrives. Raises `Misuse` if the file is not a recording, and `Failure` if it
    can't be read."""
    set_logging(settings.serve)
    logging.getLogger(Recording.__module__).setLevel(logging.WARNING)  # reports an incomplete last line
    try:
        recording = Recording.read(settings.file)
    except OSError as error:
        raise Failure(f"{settings.file} can't be read: {error.strerror}") from error
    except ValueError as error:
        raise Misuse(str(error)) from error
    options = replace(recording.options, error_detail="message")
    agent = Agent(Replay(recording, speed=settings.speed), options=options)
    threads = f"Threads are kept in memory. The recording is in thread {recording.thread_id}."
    opens = f"/?{urlencode({'agent': settings.agent, 'thread': recording.thread_id})}"
    with listen(settings.serve.host, settings.serve.port) as bound:
        await serve_agents(
            settings.serve, bound, {settings.agent: agent}, threads=threads, thread_id=recording.thread_id, opens=opens
        )
