"""The only module that uses onnxruntime: runs neural networks from files on the CPU."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framekiln.speech.errors import SpeechModelDamaged

Array = NDArray[Any]


@dataclass(frozen=True)
class NetworkPort:
    """An input or output; variable dimensions are not numbers."""

    name: str
    shape: tuple[int | str | None, ...]


class Network:
    """One network; the same input gives the same output. Safe to run from several threads."""

    def __init__(self, path: Path, *, threads: int) -> None:
        # A worker that may get speech jobs does not need the runtime yet.
        import onnxruntime  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # Warnings about the graph do not matter here; errors are raised anyway.
        options.log_severity_level = 3
        # Release memory between windows: this halves the peak.
        options.enable_cpu_mem_arena = False
        # Idle threads would use up the cores that renders need.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        # Otherwise 8-bit weights would be unpacked again for every token, which takes twice the
        # time.
        options.add_session_config_entry("session.disable_quant_qdq", "1")
        try:
            self._session = onnxruntime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            raise SpeechModelDamaged(f"{path} is not a usable network: {error}") from error
        self.inputs = tuple(NetworkPort(i.name, tuple(i.shape)) for i in self._session.get_inputs())
        self.outputs = tuple(
            NetworkPort(o.name, tuple(o.shape)) for o in self._session.get_outputs()
        )

    def run(self, outputs: Sequence[str], feeds: Mapping[str, Array]) -> list[Array]:
        """Return the named outputs, in that order."""
        return [np.asarray(found) for found in self._session.run(list(outputs), dict(feeds))]
