"""Checks and fills templates without delay for other requests.

Small templates run in a thread, with few steps. Larger ones, and those that need more steps, run in
a confined child: there, a costly template can neither take the interpreter lock of the api nor its
memory.
"""

import asyncio
import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from framekiln.composition.layers import ConfigFinding
from framekiln.composition.templates import (
    FilledTemplate,
    InvalidTemplate,
    RemoteCheck,
    fill_template,
    open_template,
    read_template,
)
from framekiln.composition.templates.budget import TemplateTooCostly
from framekiln.composition.templates.tasks import FILL_TASK, READ_TASK, RESULT_NAME
from framekiln.kit.confined.budget import children_of
from framekiln.kit.confined.errors import ConfinedKilled
from framekiln.kit.confined.limits import ResourceLimits
from framekiln.kit.confined.run import run_confined
from framekiln.kit.fair_threads import FairThreads
from framekiln.kit.ids import OrganizationId
from framekiln.kit.json_scan import MAX_VALUES, TooManyValues, load_json, scan_json
from framekiln.videos.templates.model import NewTemplate, StoredTemplate

_SMALL_CHARS: Final = 16 << 10
_SMALL_STEPS: Final = 200_000
_LIMITS: Final = ResourceLimits(cpu_s=20, memory_bytes=512 << 20, file_bytes=64 << 20, wall_s=60)

T = TypeVar("T")


@dataclass(frozen=True)
class CheckedTemplate:
    """A new template as it is stored, and the warnings about it."""

    config: dict[str, Any]
    default_values: dict[str, Any]
    warnings: tuple[ConfigFinding, ...]


@dataclass(frozen=True)
class _Work(Generic[T]):
    """Work that can be done here or in a child."""

    task: str
    args: Mapping[str, Any]
    here: Callable[[], T]
    from_child: Callable[[Mapping[str, Any]], T]

    def run_small(self) -> T:
        """Do the work here, or raise `TemplateTooCostly`."""
        # In pieces: `dumps` lets no other thread run until it has all of it.
        left = _SMALL_CHARS
        for piece in json.JSONEncoder().iterencode(self.args):
            left -= len(piece)
            if left < 0:
                raise TemplateTooCostly.at("config", _SMALL_STEPS)
        return self.here()


class TemplateWork:
    """The work of all organizations on their templates."""

    def __init__(self, threads: FairThreads) -> None:
        self._threads = threads

    async def check_new(self, organization_id: OrganizationId, new: NewTemplate) -> CheckedTemplate:
        """Check a template with its own default values, or raise what is wrong with it."""
        args = {"config": new.config, "inputs": new.inputs, "default_values": new.default_values}

        def here() -> CheckedTemplate:
            read = read_template(new.config, new.inputs, new.default_values, max_steps=_SMALL_STEPS)
            defaults = read.template.default_values.thaw()
            return CheckedTemplate(read.template.config.thaw(), defaults, read.warnings)

        def from_child(result: Mapping[str, Any]) -> CheckedTemplate:
            found = tuple(ConfigFinding(**each) for each in result["warnings"])
            return CheckedTemplate(result["config"], result["default_values"], found)

        return await self._run(organization_id, _Work(READ_TASK, args, here, from_child))

    async def fill(
        self,
        organization_id: OrganizationId,
        template: StoredTemplate | NewTemplate,
        data: object,
    ) -> FilledTemplate:
        """Fill a template with data, or raise what is wrong with the data."""
        args = {
            "config": template.config,
            "inputs": template.inputs,
            "default_values": template.default_values,
            "data": data,
        }

        def here() -> FilledTemplate:
            opened = open_template(template.config, template.inputs, template.default_values)
            return fill_template(opened, data, max_steps=_SMALL_STEPS)

        def from_child(result: Mapping[str, Any]) -> FilledTemplate:
            return FilledTemplate(
                result["config"],
                tuple(ConfigFinding(**each) for each in result["warnings"]),
                tuple(RemoteCheck.from_json(each) for each in result["remote"]),
            )

        return await self._run(organization_id, _Work(FILL_TASK, args, here, from_child))

    async def _run(self, organization_id: OrganizationId, work: _Work[T]) -> T:
        try:
            return await self._threads.run(organization_id, work.run_small)
        except TemplateTooCostly:
            pass
        with tempfile.TemporaryDirectory(prefix="framekiln-template-") as folder:
            try:
                with children_of(str(organization_id)):
                    await run_confined(work.task, work.args, limits=_LIMITS, folder=Path(folder))
                result = await asyncio.to_thread(_read_result, Path(folder, RESULT_NAME))
            except (ConfinedKilled, TooManyValues) as error:
                message = f"the template takes too much time or memory: {error}"
                raise InvalidTemplate([ConfigFinding("config", "out_of_range", message)]) from error
        return work.from_child(result)


def _read_result(path: Path) -> dict[str, Any]:
    raw = path.read_bytes()
    # As untrusted as what the child has read.
    scan_json(raw, max_values=2 * MAX_VALUES)
    result: dict[str, Any] = load_json(raw.decode())
    return result
