"""A child started for one order, in its own sandbox."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

from framekiln.kit.confined.order import ConfinedOrder, order_file
from framekiln.kit.confined.outcome import ConfinedChild, open_pipe
from framekiln.kit.confined.sandbox import Isolation, Sandbox, child_command, child_environment

_CHILD: Final = "framekiln.kit.confined.child"


@dataclass
class _StartedChild(ConfinedChild):
    """A child with its own process group."""

    process: asyncio.subprocess.Process

    def signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    async def wait(self) -> int:
        return await self.process.wait()


async def start_process(
    command: list[str], environment: dict[str, str], *, stdin: Any, output: Any, passed: int
) -> asyncio.subprocess.Process:
    """Start a command in its own session, with only the given files open."""
    return await asyncio.create_subprocess_exec(
        *command,
        stdin=stdin,
        stdout=output,
        stderr=output,
        pass_fds=(passed,),
        env=environment,
        cwd="/",
        start_new_session=True,
        umask=0o077,
    )


@asynccontextmanager
async def spawned_child(sandbox: Sandbox, order: ConfinedOrder) -> AsyncIterator[ConfinedChild]:
    """Yield the running child; afterwards it has exited, with everything it may have started."""
    view = order.view()
    async with open_pipe() as (messages, messages_end), open_pipe() as (complained, complaint_end):
        with order_file(order, has_landlock=sandbox.isolation is Isolation.NONE) as order_input:
            process = await start_process(
                child_command(sandbox.isolation, view, (_CHILD, str(messages_end.fileno()))),
                child_environment(view),
                stdin=order_input,
                output=complaint_end,
                passed=messages_end.fileno(),
            )
        messages_end.close()
        complaint_end.close()
        child = _StartedChild(messages, process=process)
        listening = asyncio.create_task(child.collect_output(complained))
        try:
            yield child
        finally:
            child.signal(signal.SIGKILL)
            await asyncio.shield(process.wait())
            listening.cancel()
