"""The gate before endpoints: how many requests may be under way at a time.

Attempts wait in `tables/attempt`; the gate lets the oldest through while there is room.
"""

from collections.abc import Collection
from typing import Protocol

from framekiln.db.pool import Connection
from framekiln.pipelines.model.ids import EndpointId


class Gate(Protocol):
    """What runs ask when attempts were added or have ended."""

    async def open(self, connection: Connection, endpoint_ids: Collection[EndpointId]) -> None:
        """Let waiting attempts at these endpoints through, up to the limits, and queue them.

        It is called in the transaction that holds a run, so it takes endpoints after runs.
        """
        ...
