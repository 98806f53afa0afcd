"""Checks the uploaded files that a config names (`file-id:<id>`) before a video is created."""

from dataclasses import dataclass

from framekiln.composition.layers import ConfigFinding, InvalidConfig, LayerConfig
from framekiln.composition.layers.findings import MAX_FINDINGS
from framekiln.composition.layers.sources import addresses_of, every_layer
from framekiln.files.errors import FileExpired, FileNotFound, FileNotReady
from framekiln.files.ids import parse_file_id
from framekiln.files.service import Files
from framekiln.kit.ids import FILE_ID_SCHEME, OrganizationId

_FIELDS = ("file", "fallbackFile")


@dataclass(frozen=True)
class NamedFiles:
    """The uploaded files of configs."""

    files: Files

    async def check(self, organization_id: OrganizationId, config: LayerConfig) -> None:
        """Raise `InvalidConfig` unless each file exists here and is ready.

        A file of another organization is unknown.
        """
        problems: dict[str, ConfigFinding | None] = {}
        issues: list[ConfigFinding] = []
        for layer in every_layer(config.layers):
            for field, address in zip(_FIELDS, addresses_of(layer), strict=False):
                if not address.startswith(FILE_ID_SCHEME):
                    continue
                if address not in problems:
                    problems[address] = await self._problem(organization_id, address)
                found = problems[address]
                if found is not None:
                    path = f"{layer.path}.{field}"
                    issues.append(ConfigFinding(path, found.code, found.message))
        if issues:
            raise InvalidConfig(issues[:MAX_FINDINGS])

    async def _problem(self, organization_id: OrganizationId, address: str) -> ConfigFinding | None:
        try:
            file_id = parse_file_id(address.removeprefix(FILE_ID_SCHEME))
            self.files.check_readable(await self.files.get(organization_id, file_id))
        except (FileNotFound, FileExpired, FileNotReady) as error:
            return ConfigFinding(address, error.code, error.message)
        return None
