"""`check_server`: tries the rules on a server one after the other, and prints what became of each."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Final

import httpx

from ..errors import Misuse
from ..errors import brief as brief_error
from .results import Broken, NotChecked, NotOffered, Result, Verdict, plain
from .rules import RULES, Rule, Trial
from .server import Server, found

_CONNECTIONS: Final = httpx.Limits(max_keepalive_connections=0)
"""Each request has a connection of its own, as each reader has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSettings:
    """Which server is to be checked, and how: the arguments of the command."""

    url: str
    agent: str | None
    headers: Sequence[str]
    message: str
    drops: int
    rules: Sequence[str]
    timeout: float
    as_json: bool


async def check_server(settings: CheckSettings) -> int:
    """Prints each rule and what became of it; the exit code: 1 if the server broke one, else 0. Raises `Misuse` for
    arguments that can't be meant, `Failure` for a server that can't be reached."""
    chosen = _chosen(settings.rules)
    headers = dict(_header(each) for each in settings.headers)
    async with httpx.AsyncClient(headers=headers, timeout=settings.timeout, limits=_CONNECTIONS) as http:
        place = await found(http, settings.url, settings.agent)
        trial = Trial(Server(http, place), settings.message, settings.drops)
        results = []
        async for result in checked(trial, settings.timeout, chosen):
            results.append(result)
            if not settings.as_json:
                print(*result.lines(), sep="\n", flush=True)
    counts = Counter(result.verdict for result in results)
    if settings.as_json:
        print(json.dumps({"url": place.run, "rules": [result.as_json() for result in results]}))
    else:
        print("\n" + plain(f"{place.run}: " + ", ".join(f"{counts[each]} {each}" for each in Verdict if counts[each])))
    return int(counts[Verdict.failed] > 0)


async def checked(
    trial: Trial,
    timeout: float,  # noqa: ASYNC109 - of each rule
    rules: Sequence[Rule] = RULES,
) -> AsyncIterator[Result]:
    """What became of each of the rules, in their order. `timeout`: seconds that a rule may take. The first of `RULES`
    has to be among them: the others need its run."""
    for rule in rules:
        yield await _tried(rule, trial, timeout)


def _chosen(names: Sequence[str]) -> list[Rule]:
    """The rules of these names, and the first one; all, if none is named."""
    unknown = set(names) - {rule.name for rule in RULES}
    if unknown:
        raise Misuse(f"--rule {', '.join(sorted(unknown))}: expected any of {', '.join(rule.name for rule in RULES)}")
    return [rule for rule in RULES if not names or rule.name in names or rule is RULES[0]]


async def _tried(rule: Rule, trial: Trial, timeout: float) -> Result:  # noqa: ASYNC109
    def result(verdict: Verdict, **details: str) -> Result:
        return Result(rule.name, rule.says, verdict, **details)

    try:
        try:
            async with asyncio.timeout(timeout):
                await rule.check(trial)
        except* (Broken, NotOffered, NotChecked, TimeoutError, httpx.RequestError) as group:
            raise _first(group) from None
    except Broken as broken:
        return result(Verdict.failed, expected=broken.expected, got=broken.got)
    except NotOffered as missing:
        return result(Verdict.not_offered, reason=str(missing))
    except NotChecked as unknown:
        return result(Verdict.not_checked, reason=str(unknown))
    except TimeoutError:
        return result(Verdict.failed, expected="an end", got=f"none within {timeout:g} seconds")
    except httpx.RequestError as error:
        return result(Verdict.failed, expected="a whole response", got=brief_error(error))
    return result(Verdict.passed)


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first of the exceptions of a rule that reads two streams at once."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _header(written: str) -> tuple[str, str]:
    name, colon, value = written.partition(":")
    if not (name.strip() and colon):
        raise Misuse(f"--header {written}: expected a name and a value, as in 'Authorization: Bearer ...'")
    return name.strip(), value.strip()
