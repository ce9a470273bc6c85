"""The command `replay`: a recording, served by the routes that serve a graph."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlencode

from ...serve import Agent
from ...testing.recording import Recording
from ...testing.replay import Replay
from ..errors import Failure, Misuse
from ..serving.serve import ServeSettings, listening, serve_agents, set_logging


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaySettings:
    """What is to be replayed, and how: the arguments of the command."""

    file: Path
    agent: str
    """The name under which it is served."""
    speed: float | None
    """How many times faster than it was recorded; None: at once."""
    serve: ServeSettings
    """Where it is served."""


async def replay_until_stopped(settings: ReplaySettings) -> None:
    """Serves a recording until a signal comes. Raises `Misuse` for a file that is no recording, `Failure` for one that
    can't be read."""
    set_logging(settings.serve)
    logging.getLogger(Recording.__module__).setLevel(logging.WARNING)  # an incomplete last line
    try:
        recording = Recording.read(settings.file)
    except OSError as error:
        raise Failure(f"{settings.file} can't be read: {error.strerror}") from error
    except ValueError as error:
        raise Misuse(str(error)) from error
    options = replace(recording.options, error_detail="message")
    agent = Agent(Replay(recording, speed=settings.speed), options=options)
    threads = f"Threads are in memory. The recording is of thread {recording.thread_id}."
    opens = f"/?{urlencode({'agent': settings.agent, 'thread': recording.thread_id})}"
    with listening(settings.serve.host, settings.serve.port) as bound:
        await serve_agents(
            settings.serve, bound, {settings.agent: agent}, threads=threads, thread_id=recording.thread_id, opens=opens
        )
