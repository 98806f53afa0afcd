"""Memory of another process: every place where a block may begin."""

import os
import subprocess
import sys

from framekiln.capture.framebuffer import find_blocks

MARK = bytes(range(100, 164))
SIZE = 1 << 20
# A copy of the mark lies before the block itself, in the same region.
PROGRAM = f"""
import mmap, sys
memory = mmap.mmap(-1, {2 * SIZE})
for place in (4096, 20480):
    for offset in range({len(MARK)}):
        memory[place + offset] = 100 + offset
print("ready", flush=True)
sys.stdin.read()
"""


def test_a_copy_of_the_mark_does_not_hide_the_block() -> None:
    """Pictures were written over memory 16 KiB before the array that they were meant for."""
    command = [sys.executable, "-c", PROGRAM, "--type=renderer-of-this-test"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        found = [*find_blocks(os.getpid(), "renderer-of-this-test", start=MARK, size_bytes=SIZE)]
        process.communicate()
    assert [block.pid for block in found] == [process.pid] * 2
    assert found[1].address - found[0].address == 16384
