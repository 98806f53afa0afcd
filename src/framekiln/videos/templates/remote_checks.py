"""Input rules that need the network: whether a host exists, what a URL contains."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from framekiln.composition.layers import ConfigFinding
from framekiln.composition.templates import InvalidData, RemoteCheck
from framekiln.engine.source_facts import UNSUPPORTED
from framekiln.kit.errors import FramekilnError
from framekiln.kit.guarded_transport import Resolve, is_no_such_host
from framekiln.kit.ids import OrganizationId
from framekiln.kit.media_kind import MediaKind
from framekiln.media.probe.probed_source import ProbedSource
from framekiln.videos.sources import SourceFinder, is_source_at_fault, source_error_code

_RESOLVED_WITHIN_S: Final = 5.0
_AT_A_TIME: Final = 4


@dataclass(frozen=True)
class RemoteChecks:
    """Runs the checks that need the network."""

    sources: SourceFinder
    resolve: Resolve

    async def require(self, organization_id: OrganizationId, checks: Sequence[RemoteCheck]) -> None:
        """Raise `InvalidData` unless all checks pass."""
        places = asyncio.Semaphore(_AT_A_TIME)

        async def ask(check: RemoteCheck) -> ConfigFinding | None:
            async with places:
                if check.rule == "active_url":
                    return await self._active_url(check)
                return await self._media(organization_id, check)

        found = await asyncio.gather(*(ask(check) for check in checks))
        issues = [issue for issue in found if issue is not None]
        if issues:
            raise InvalidData(issues)

    async def _active_url(self, check: RemoteCheck) -> ConfigFinding | None:
        """Report only hosts that certainly do not exist, not slow or failing resolvers."""
        host = urlsplit(check.url).hostname or ""
        if host == "localhost" or _is_address(host):
            return None
        try:
            async with asyncio.timeout(_RESOLVED_WITHIN_S):
                await self.resolve(host, 443)
        except OSError as error:
            if is_no_such_host(error):
                message = f"{_name(check)} names a host that does not exist"
                return ConfigFinding(check.path, "host_not_found", message)
        except UnicodeError:
            message = f"{_name(check)} names a host that cannot exist"
            return ConfigFinding(check.path, "host_not_found", message)
        return None

    async def _media(
        self, organization_id: OrganizationId, check: RemoteCheck
    ) -> ConfigFinding | None:
        kinds = set(check.arguments) if check.rule == "media" else set()
        try:
            found = await self.sources.probe(organization_id, check.url)
        except FramekilnError as error:
            if not is_source_at_fault(error):
                raise
            return ConfigFinding(
                check.path, source_error_code(error), f"{_name(check)}: {error.message}"
            )
        if check.rule == "media" and not _is_any(found, kinds):
            message = f"{_name(check)} must be {' or '.join(sorted(kinds))}"
            return ConfigFinding(check.path, UNSUPPORTED, message)
        if check.rule == "duration_max" and _lasts_longer(found, check.arguments[0]):
            message = f"{_name(check)} must last at most {check.arguments[0]} s"
            return ConfigFinding(check.path, "out_of_range", message)
        return None


def _is_any(found: ProbedSource, kinds: set[str]) -> bool:
    return (
        ("video" in kinds and found.is_moving)
        or ("audio" in kinds and found.has_sound)
        or ("image" in kinds and found.kind is MediaKind.IMAGE)
    )


def _lasts_longer(found: ProbedSource, most: str) -> bool:
    return found.duration_s is not None and found.duration_s > Fraction(most)


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _name(check: RemoteCheck) -> str:
    return check.path.removeprefix("data.")
