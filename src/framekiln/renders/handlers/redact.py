"""Job: make a redacted copy of a file, with boxes hidden and sound muted.

The film is untrusted, so a confined child process decodes it. If the worker dies, the job starts
again from the beginning.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from framekiln.files.service import Files
from framekiln.jobs.failures import retry_while_database_down
from framekiln.jobs.model import JobContext
from framekiln.jobs.progress import ProgressReporter
from framekiln.kit.confined.job_folders import JobFolders, open_job_folders
from framekiln.kit.confined.limits import ResourceLimits
from framekiln.kit.confined.run import run_confined
from framekiln.renders.model import Redaction, Render, RenderResult
from framekiln.renders.output_file import store_output
from framekiln.renders.render_job import run_first_job
from framekiln.renders.worker import RenderWorker
from framekiln.storage.blob_store import BlobStore
from framekiln.storage.new_blobs import NewBlobs
from framekiln.timeline import read_fraction

REDACTION_TASK: Final = "framekiln.engine.redaction:task"
# The same limits as for splitting a file with re-encoding.
_LIMITS: Final = ResourceLimits(
    cpu_s=8 * 3600, memory_bytes=4 << 30, file_bytes=8 << 30, wall_s=4 * 3600
)


@dataclass(frozen=True)
class RedactFile:
    """Handles `render.redact` jobs."""

    worker: RenderWorker
    files: Files
    blobs: BlobStore
    new_blobs: NewBlobs

    async def __call__(self, job: JobContext) -> None:
        """Make the copy, and complete the render with it."""
        await run_first_job(self.worker, job, self._redact)

    async def _redact(self, render: Render, _: JobContext) -> None:
        with open_job_folders("redact") as place:
            result = await self._make(render, place)
        if not await retry_while_database_down(lambda: self.worker.complete(render.id, result)):
            await self.new_blobs.discard(result.output_key)

    async def _make(self, render: Render, place: JobFolders) -> RenderResult:
        order, out = place.folder / "order.json", place.folder / "out.mp4"
        await self.blobs.get_to_file(render.source_key, order)
        redaction = Redaction.from_json(json.loads(order.read_bytes()))
        file = await self.files.get(render.organization_id, redaction.file_id)
        await self.files.fetch_media(file, place.source)
        async with ProgressReporter[int](
            partial(self.worker.report_permille, render.id)
        ) as progress:
            redacted = await run_confined(
                REDACTION_TASK,
                {"source": str(place.source), "order": order.name, "out": out.name},
                limits=_LIMITS,
                folder=place.folder,
                readable=[place.source],
                on_report=lambda report: progress.report(_thousandths(report)),
            )
        output = await store_output(render, out, self.new_blobs)
        return RenderResult(
            width_px=int(redacted["width_px"]),
            height_px=int(redacted["height_px"]),
            fps=read_fraction(redacted["fps"]),
            duration_ms=int(redacted["duration_ms"]),
            output_key=output.key,
            byte_size=output.byte_size,
            record={"boxes": len(redaction.boxes), "mutes": len(redaction.mutes), "warnings": []},
            md5=output.md5,
        )


def _thousandths(report: Mapping[str, Any]) -> int:
    """Return the progress in a child's report, which may contain anything."""
    thousandths = report.get("thousandths")
    return min(1000, max(0, thousandths)) if isinstance(thousandths, int) else 0
