"""Answers the requests of `useChat`, the chat of the Vercel AI SDK (`runs`): runs, threads, and streams that resume.

`inputs` reads what a page sends. `wire` makes the chunks of a UI message stream from events: `parts` makes the parts of
messages, and `chunks` compares them with those that a page has.
"""

from .runs import endpoints

__all__ = ["endpoints"]
