"""Bulks on the service: a video for each row of a table, from one template."""

import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from framekiln.client.errors import LocalFileUnusable
from framekiln.client.model import RemoteBulk, RemoteBulkRow
from framekiln.client.operations import (
    Connection_co,
    Items,
    Pause,
    RemotePart,
    Steps,
    listing,
    operation,
)
from framekiln.client.responses import OnFraction
from framekiln.client.videos import Destinations, destinations_body
from framekiln.kit.errors import reason_of

_BULKS: Final = "/v2/bulks"
_TABLES: Final = {
    ".csv": "text/csv",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".ndjson": "application/x-ndjson",
}
_FIRST_PAUSE_S: Final = 0.5
_MAX_PAUSE_S: Final = 5.0

TableFormat = Literal["json", "csv"]


class RemoteBulks(RemotePart[Connection_co]):
    """The bulks of an organization."""

    @operation
    def create(
        self,
        template_id: str,
        rows: Sequence[Mapping[str, Any]],
        *,
        version: int | None = None,
        destinations: Destinations = None,
        key: str | None = None,
    ) -> Steps[RemoteBulk]:
        """Make a video of each row; see its `warnings`.

        `key` makes a repeated call return the first bulk, without warnings.
        """
        body: dict[str, Any] = {"rows": [dict(row) for row in rows], "version": version}
        body |= destinations_body(destinations)
        sent = {name: value for name, value in body.items() if value is not None}
        return (yield from self._create(template_id, key, json=sent))

    @operation
    def create_from_table(
        self,
        template_id: str,
        table: Path,
        *,
        version: int | None = None,
        key: str | None = None,
    ) -> Steps[RemoteBulk]:
        """Make a video of each row of a local file: .csv, .json, .jsonl or .ndjson."""
        media_type = _TABLES.get(table.suffix.lower())
        if media_type is None:
            raise LocalFileUnusable(f"{table}: the name must end in {', '.join(_TABLES)}")
        try:
            content = table.read_bytes()
        except OSError as error:
            raise LocalFileUnusable(f"cannot read {table}: {reason_of(error)}") from error
        options: dict[str, Any] = {"content": content, "headers": {"Content-Type": media_type}}
        if version is not None:
            options["params"] = {"version": version}
        return (yield from self._create(template_id, key, **options))

    @operation
    def get(self, bulk_id: str) -> Steps[RemoteBulk]:
        """Return a bulk with the number of its rows by status."""
        return RemoteBulk.of((yield from self._read("GET", f"{_BULKS}/{bulk_id}"))["data"])

    @listing
    def list(self) -> Items[RemoteBulk]:
        """Yield bulks, newest first."""
        return self._numbered_items(_BULKS, RemoteBulk.of)

    @operation
    def wait(self, bulk_id: str, on_fraction: OnFraction = lambda _: None) -> Steps[RemoteBulk]:
        """Return a bulk when all its rows have ended; rows may have failed."""
        pause_s = _FIRST_PAUSE_S
        while True:
            raw = yield from self._read("GET", f"{_BULKS}/{bulk_id}")
            bulk = RemoteBulk.of(raw["data"])
            on_fraction(bulk.progress)
            if bulk.status != "running":
                return bulk
            yield Pause(pause_s)
            pause_s = min(1.5 * pause_s, _MAX_PAUSE_S)

    @listing
    def rows(self, bulk_id: str) -> Items[RemoteBulkRow]:
        """Yield the rows with their results, in order."""
        return self._numbered_items(f"{_BULKS}/{bulk_id}/rows", RemoteBulkRow.of)

    @operation
    def cancel(self, bulk_id: str) -> Steps[RemoteBulk]:
        """Start no more rows and stop those under way; finished videos stay."""
        raw = yield from self._read("POST", f"{_BULKS}/{bulk_id}/cancel")
        return RemoteBulk.of(raw["data"])

    @operation
    def download(self, bulk_id: str, path: Path) -> Steps[None]:
        """Write the videos of a bulk that has ended to a local ZIP file."""
        yield from self._save(f"{_BULKS}/{bulk_id}/download", path)

    @operation
    def manifest(self, bulk_id: str, path: Path, table_format: TableFormat = "json") -> Steps[None]:
        """Write the results of all rows to a local JSON or CSV file, also while it runs."""
        yield from self._save(f"{_BULKS}/{bulk_id}/manifest?format={table_format}", path)

    def _create(self, template_id: str, key: str | None, **options: Any) -> Steps[RemoteBulk]:
        # The key makes retries safe.
        headers = {**options.pop("headers", {}), "Idempotency-Key": key or str(uuid.uuid4())}
        path = f"/v2/templates/{template_id}/bulk"
        raw = yield from self._read("POST", path, headers=headers, **options)
        return RemoteBulk.of({**raw["data"], "warnings": raw.get("warnings", [])})
