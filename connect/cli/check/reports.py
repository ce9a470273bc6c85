"""Writes the results of a check to files: HTML for people, JUnit for CI, JSON for programs.

In each of them, what a server sent is plain text without control characters, and never markup.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

from .... import __version__
from ..errors import Failure, Misuse
from .results import Result, Verdict, count_results, plain

_STYLE: Final = """
body { font: 16px/1.5 system-ui; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
td, th { border-bottom: 1px solid #ccc; padding: .3rem .6rem; text-align: left; vertical-align: top; }
.pass { color: #0a6b2d; } .fail { color: #a4001d; font-weight: 600; } .not { color: #555; }
small, dd { color: #555; overflow-wrap: anywhere; }
"""
_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}
</body>
</html>
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """The results of one check. `url`: where the agent runs. `message`: what it was asked."""

    url: str
    message: str
    checked_at: datetime
    results: Sequence[Result]

    def as_json(self) -> dict[str, Any]:
        """Returns the report as JSON."""
        about = {"url": self.url, "message": self.message, "checkedAt": self.checked_at.isoformat(timespec="seconds")}
        return {**about, "version": __version__, "rules": [result.as_json() for result in self.results]}


def check_format(path: Path) -> None:
    """Raises `Misuse` if the name of a file does not end as that of a report does."""
    if path.suffix not in _FORMATS:
        raise Misuse(f"--report {path}: expected a name that ends with {', '.join(_FORMATS)}")


def write_report(report: CheckReport, path: Path) -> None:
    """Writes a report in the format that the end of the file's name stands for. Raises `Failure` if the file can't be
    written."""
    try:
        path.write_text(_FORMATS[path.suffix](report), encoding="utf-8")
    except OSError as error:
        raise Failure(f"--report {path} can't be written: {error.strerror}") from error


def _html(report: CheckReport) -> str:
    rows = []
    for name, is_core in (("AG-UI", True), ("The proposal: connect, watch, stop, offsets, threads", False)):
        results = [result for result in report.results if result.is_core == is_core]
        rows += [f'<tr><th colspan="4" scope="colgroup">{name}</th></tr>'] if results else []
        rows += [_row(result) for result in results]
    title = plain(f"Conformance of {report.url}")
    about = plain(
        f"{report.checked_at:%Y-%m-%d %H:%M} UTC, langgraph-agui {__version__}, message {json.dumps(report.message)}"
    )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("", "rule", "result", "seconds"))
    body = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(count_results(report.results))}</p>",
        f"<p><small>{escape(about)}</small></p>",
        f"<table>\n<tr>{head}</tr>",
        *rows,
        "</table>",
    ]
    return _PAGE.format(title=escape(title), style=_STYLE, body="\n".join(body))


def _row(result: Result) -> str:
    details = "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in result.details.items())
    kind = result.verdict.value.partition(" ")[0]
    return (
        f"<tr><td>{result.number}</td><td><code>{result.rule}</code>: {escape(result.says)}<br>"
        f"<small>{escape(result.why)}</small>{f'<dl>{details}</dl>' if details else ''}</td>"
        f'<td class="{kind}">{result.verdict}</td><td>{result.seconds:.1f}</td></tr>'
    )


def _junit(report: CheckReport) -> str:
    """Returns the report as JUnit's XML. What was not offered or not checked is a skipped test."""
    skipped = (Verdict.not_offered, Verdict.not_checked)
    suite = ElementTree.Element(
        "testsuite",
        name=plain(report.url),
        timestamp=report.checked_at.isoformat(timespec="seconds"),
        tests=str(len(report.results)),
        failures=str(sum(result.verdict is Verdict.failed for result in report.results)),
        skipped=str(sum(result.verdict in skipped for result in report.results)),
        errors="0",
        time=f"{sum(result.seconds for result in report.results):.3f}",
    )
    for result in report.results:
        layer = "ag-ui" if result.is_core else "proposal"
        name = f"{result.number} {result.rule}: {result.says}"
        case = ElementTree.SubElement(suite, "testcase", classname=layer, name=name, time=f"{result.seconds:.3f}")
        if result.verdict is Verdict.failed:
            failure = ElementTree.SubElement(case, "failure", message=f"expected {result.details.get('expected')}")
            failure.text = "\n".join(f"{field}: {detail}" for field, detail in result.details.items())
        elif result.verdict in skipped:
            ElementTree.SubElement(case, "skipped", message=f"{result.verdict}: {result.details.get('reason')}")
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _json(report: CheckReport) -> str:
    return json.dumps(report.as_json(), indent=2) + "\n"


_FORMATS: Final[Mapping[str, Callable[[CheckReport], str]]] = {".html": _html, ".xml": _junit, ".json": _json}
