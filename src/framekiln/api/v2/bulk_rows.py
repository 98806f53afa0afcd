"""The rows of a bulk as they are posted: JSON, JSON Lines or CSV, by the content type."""

import asyncio
import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from fastapi import Request

from framekiln.api.bodies import parse_json, parse_large_json, read_bytes
from framekiln.api.errors import MalformedJson
from framekiln.api.v2.forms import MAX_FIELDS_BYTES, field_error, unknown_fields
from framekiln.composition.layers.findings import ConfigFinding
from framekiln.kit.errors import InvalidInput, TooLarge
from framekiln.kit.json_scan import MAX_VALUES
from framekiln.videos.bulks.model import MAX_ROWS
from framekiln.videos.bulks.row_check import InvalidRows, RowIssue

CSV_TYPES: Final = ("text/csv", "application/csv")
JSON_LINES_TYPES: Final = (
    "application/jsonl",
    "application/x-ndjson",
    "application/ndjson",
    "application/json-lines",
    "application/x-jsonlines",
)
MAX_COMMAS: Final = 10_000
"""In a row of CSV, which is read, sorted and written by single calls."""

_FIELDS: Final = frozenset({"rows", "version", "destinations"})

Data = dict[str, Any]


@dataclass(frozen=True)
class PostedRows:
    """Rows of data; the version of the template and destinations if the body has some."""

    rows: list[Data]
    version: object = None
    destinations: object = None
    warnings: tuple[ConfigFinding, ...] = ()


async def read_posted_rows(request: Request) -> PostedRows:
    """Read the rows of a request; raise what is wrong with the body or with single rows."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    raw = await read_bytes(request, max_bytes=MAX_FIELDS_BYTES)
    if kind in CSV_TYPES:
        posted = PostedRows(await asyncio.to_thread(read_csv, raw))
    elif kind in JSON_LINES_TYPES:
        posted = PostedRows(await asyncio.to_thread(read_json_lines, raw))
    else:
        # Clients send JSON under any type.
        posted = read_json_rows(await parse_large_json(raw or b"[]"))
    if not posted.rows:
        raise field_error("rows", "required", "there are no rows: send 1 to 10,000")
    return posted


def read_json_rows(value: object) -> PostedRows:
    """Return the rows of an array, or of an object with `rows`."""
    version = destinations = None
    warnings: tuple[ConfigFinding, ...] = ()
    if isinstance(value, dict):
        warnings = unknown_fields(value, _FIELDS, what="a bulk")
        version, destinations = value.get("version"), value.get("destinations")
        value = value.get("rows")
    if not isinstance(value, list):
        raise field_error("rows", "type", 'send an array of objects, or {"rows": [...]}')
    _check_count(len(value))
    issues = [
        _not_an_object(n) for n, row in enumerate(value, start=1) if not isinstance(row, dict)
    ]
    if issues:
        raise InvalidRows(issues)
    return PostedRows(value, version, destinations, warnings)


def read_json_lines(raw: bytes) -> list[Data]:
    """Return the rows of JSON Lines: an object in each line; empty lines are skipped."""
    lines = [line for line in raw.splitlines() if line.strip()]
    _check_count(len(lines))
    rows: list[Data] = []
    issues: list[RowIssue] = []
    # Together, so that many lines cannot hold more than one body may.
    _check_values(sum(line.count(b",") + line.count(b":") + 1 for line in lines))
    for number, line in enumerate(lines, start=1):
        try:
            row = parse_json(line)
        except MalformedJson as error:
            message = error.message.replace("the body", "the line")
            issues.append(RowIssue(number, "", "type", message))
            continue
        if isinstance(row, dict):
            rows.append(row)
        else:
            issues.append(_not_an_object(number))
    if issues:
        raise InvalidRows(issues)
    return rows


def read_csv(raw: bytes) -> list[Data]:
    """Return the rows of CSV: names of inputs in the first line; an empty cell is no value."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise field_error("rows", "type", f"the CSV is not UTF-8: byte {error.start}") from error
    if "\x00" in text:
        raise field_error("rows", "type", "the CSV holds the character U+0000")
    lines = _csv_lines(text)
    names = _csv_names(next(lines, []))
    rows: list[Data] = []
    issues: list[RowIssue] = []
    for number, cells in enumerate(lines, start=1):
        _check_count(number)
        _check_values(number * len(names))
        if len(cells) > len(names):
            message = f"has {len(cells)} cells, but the first line has {len(names)} names"
            issues.append(RowIssue(number, "", "type", message))
        rows.append({name: cell for name, cell in zip(names, cells, strict=False) if cell != ""})
    if issues:
        raise InvalidRows(issues)
    return rows


def _csv_names(cells: list[str]) -> list[str]:
    names = [name.strip() for name in cells]
    if not names or "" in names or len(set(names)) < len(names):
        message = "the first line of the CSV must name each input once, without empty names"
        raise field_error("rows", "type", message)
    for separator, shown in ((";", "semicolons"), ("\t", "tabs")):
        if len(names) == 1 and separator in names[0]:
            message = f"the first line of the CSV has {shown} and no commas: use commas"
            raise field_error("rows", "type", message)
    return names


def _csv_lines(text: str) -> Iterator[list[str]]:
    """Yield the lines that are not empty."""
    commas = 0

    def read() -> Iterator[str]:
        nonlocal commas
        for line in io.StringIO(text, newline=""):
            commas += line.count(",")
            # The reader lets no other thread run until it has all cells of a line.
            if commas > MAX_COMMAS:
                message = f"the CSV has a line with more than {MAX_COMMAS} commas"
                raise TooLarge(message, limit_values=MAX_COMMAS)
            yield line

    reader = csv.reader(read(), strict=True)
    try:
        for cells in reader:
            commas = 0
            if cells:
                yield cells
    except csv.Error as error:
        message = f"the CSV cannot be read: line {reader.line_num}: {error}"
        raise field_error("rows", "type", message) from error


def _check_count(count: int) -> None:
    if count > MAX_ROWS:
        raise field_error("rows", "out_of_range", f"there are more than {MAX_ROWS} rows")


def _check_values(count: int) -> None:
    if count > MAX_VALUES:
        message = f"the rows have more than {MAX_VALUES} values: send them as several bulks"
        raise TooLarge(message, limit_values=MAX_VALUES)


def _not_an_object(number: int) -> RowIssue:
    return RowIssue(number, "", "type", "must be an object: values by the names of inputs")


def posted_version(posted: PostedRows, asked: int | None) -> int | None:
    """Return the version that the address or the body asks for."""
    version = posted.version
    if version is None:
        return asked
    if isinstance(version, bool) or not isinstance(version, int):
        raise field_error("version", "type", "version must be an integer")
    return version


def rows_problem(error: InvalidRows) -> dict[str, Any]:
    """Return the body of the response for wrong rows; unlike others, it names many."""
    by_path: dict[str, list[str]] = {}
    issues: list[dict[str, Any]] = []
    for issue in error.issues:
        path = f"rows.{issue.row}" + (f".{issue.path}" if issue.path else "")
        by_path.setdefault(path, []).append(issue.message)
        issues.append({"path": path, "code": issue.code, "hint": issue.message, "row": issue.row})
    return {
        "error": InvalidInput.code,
        "message": error.message,
        "errors": by_path,
        "issues": issues,
    }
