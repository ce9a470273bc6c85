"""Checks a server against the rules, one after the other, prints the result of each, and writes the reports:
`check_server`."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import httpx

from ..errors import Misuse
from ..errors import brief as brief_error
from .reports import CheckReport, check_format, write_report
from .results import Broken, NotChecked, NotOffered, Result, Verdict, count_results, plain
from .rules import RULES, Rule, Trial
from .server import Server, find_agent, header_of

_CONNECTIONS: Final = httpx.Limits(max_keepalive_connections=0)
"""Opens a new connection for each request, since each reader of a real server has its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSettings:
    """The arguments of the command `check`: which server to check, and how."""

    url: str
    agent: str | None
    headers: Sequence[str]
    message: str
    drops: int
    rules: Sequence[str]
    timeout: float
    as_json: bool
    reports: Sequence[Path]


async def check_server(settings: CheckSettings) -> int:
    """Prints the result of each rule, writes the reports, and returns the exit code: 1 if the server broke a rule, else
    0. Raises `Misuse` for invalid arguments, and `Failure` if the server can't be reached or a report can't be
    written."""
    rules = _rules(settings.rules)
    for path in settings.reports:
        check_format(path)
    headers = dict(header_of(header) for header in settings.headers)
    async with httpx.AsyncClient(headers=headers, timeout=settings.timeout, limits=_CONNECTIONS) as http:
        endpoint = await find_agent(http, settings.url, settings.agent)
        trial = Trial(Server(http, endpoint), settings.message, settings.drops)
        results = []
        async for result in check_rules(trial, settings.timeout, rules):
            results.append(result)
            if not settings.as_json:
                print(*result.lines(), sep="\n", flush=True)
    report = CheckReport(url=endpoint.run, message=settings.message, checked_at=datetime.now(UTC), results=results)
    if settings.as_json:
        print(json.dumps(report.as_json()))
    else:
        print("\n" + plain(f"{endpoint.run}: {count_results(results)}"))
    for path in settings.reports:
        write_report(report, path)
    return int(any(result.verdict is Verdict.failed for result in results))


async def check_rules(
    trial: Trial,
    timeout: float,  # noqa: ASYNC109 - of each rule
    rules: Sequence[Rule] = RULES,
) -> AsyncIterator[Result]:
    """Checks the rules in order, and yields the result of each. A rule may take `timeout` seconds. `rules` must contain
    the first of `RULES`, because the other rules use its run."""
    for rule in rules:
        yield await _check_rule(rule, trial, timeout)


def _rules(names: Sequence[str]) -> list[Rule]:
    """Returns the rules with these names and the first rule, or all rules if `names` is empty."""
    unknown = set(names) - {rule.name for rule in RULES}
    if unknown:
        raise Misuse(f"--rule {', '.join(sorted(unknown))}: expected any of {', '.join(rule.name for rule in RULES)}")
    return [rule for rule in RULES if not names or rule.name in names or rule is RULES[0]]


async def _check_rule(rule: Rule, trial: Trial, timeout: float) -> Result:  # noqa: ASYNC109
    began = time.monotonic()

    def result(verdict: Verdict, **details: str) -> Result:
        seconds = time.monotonic() - began
        return Result(
            number=rule.number,
            rule=rule.name,
            says=rule.says,
            why=rule.why,
            verdict=verdict,
            seconds=seconds,
            **details,
        )

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
        return result(Verdict.failed, expected="a complete response", got=brief_error(error))
    return result(Verdict.passed)


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Returns the first exception in a group. A rule that reads two streams at once raises a group."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
