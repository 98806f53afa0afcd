"""Memory that the two sides of a session see: slots of equal size for frames or samples."""

import fcntl
import mmap
import os
from typing import Final

_SEALS: Final = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


class SharedSlots:
    """Memory of a fixed size, which the child cannot change: a shorter file would crash us."""

    def __init__(self, slot_bytes: int, slots: int) -> None:
        self.slot_bytes = slot_bytes
        self.slots = slots
        self.file = os.memfd_create("slots", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(self.file, slot_bytes * slots)
            fcntl.fcntl(self.file, fcntl.F_ADD_SEALS, _SEALS)
            self._view = memoryview(mmap.mmap(self.file, slot_bytes * slots, prot=mmap.PROT_READ))
        except BaseException:
            os.close(self.file)
            raise

    def slot(self, number: int) -> memoryview:
        """Return the bytes of a slot, only for reading."""
        return self._view[number * self.slot_bytes : (number + 1) * self.slot_bytes]

    def __del__(self) -> None:
        # Slots in use keep the memory itself.
        os.close(self.file)


class SlotMemory:
    """The child's view of the slots, which it writes in turn."""

    def __init__(self, file: int, slot_bytes: int, slots: int) -> None:
        self._map = mmap.mmap(file, slot_bytes * slots)
        self._view = memoryview(self._map)
        self._slot_bytes = slot_bytes
        self._slots = slots
        self._next = 0

    def next_slot(self) -> tuple[int, memoryview]:
        """Return the number and the bytes of the slot that was written longest ago."""
        number = self._next
        self._next = (number + 1) % self._slots
        start = number * self._slot_bytes
        return number, self._view[start : start + self._slot_bytes]
