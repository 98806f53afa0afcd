"""A proxy to PostgreSQL that drops a response."""

import asyncio
from pathlib import Path
from typing import Self

from psycopg.conninfo import conninfo_to_dict, make_conninfo


class LossyProxy:
    """A proxy that closes the connection instead of forwarding one response.

    The first statement that contains `lost` is executed, but the client gets no response.
    """

    def __init__(self, conninfo: str, folder: Path, lost: bytes) -> None:
        self.conninfo = make_conninfo(conninfo, host=str(folder))
        self.has_lost = False
        self._lost = lost
        self._target = f"{conninfo_to_dict(conninfo)['host']}/.s.PGSQL.5432"
        self._socket = folder / ".s.PGSQL.5432"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_unix_server(self._serve, self._socket)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _serve(
        self, client_in: asyncio.StreamReader, client_out: asyncio.StreamWriter
    ) -> None:
        server_in, server_out = await asyncio.open_unix_connection(self._target)
        is_armed = asyncio.Event()
        tasks = [
            asyncio.create_task(self._ask(client_in, server_out, is_armed)),
            asyncio.create_task(self._answer(server_in, client_out, is_armed)),
        ]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        server_out.close()
        client_out.close()

    async def _ask(
        self, client: asyncio.StreamReader, server: asyncio.StreamWriter, is_armed: asyncio.Event
    ) -> None:
        while data := await client.read(65536):
            if self._lost in data and not self.has_lost:
                is_armed.set()
            server.write(data)
            await server.drain()

    async def _answer(
        self, server: asyncio.StreamReader, client: asyncio.StreamWriter, is_armed: asyncio.Event
    ) -> None:
        while data := await server.read(65536):
            if is_armed.is_set():
                self.has_lost = True
                return
            client.write(data)
            await client.drain()
