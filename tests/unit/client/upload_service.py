"""Stands in for the service's side of uploads: stores bytes, and breaks off on request."""

import re
from dataclasses import dataclass, field

import httpx


@dataclass
class UploadService:
    """Takes one file in; `trouble` is what happens to the next requests, None for nothing."""

    size_bytes: int
    faults: list[int | str | None] = field(default_factory=list)
    data: bytes = b""
    asked: list[str] = field(default_factory=list)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        request.read()
        where = request.headers.get("content-range", "")
        self.asked.append(f"{request.method} {where}".strip())
        trouble = self.faults.pop(0) if self.faults else None
        if isinstance(trouble, int):
            return httpx.Response(trouble, json={"error": "a_code", "message": "words"})
        if request.method == "POST":
            self._take(request.content, where, cut=trouble == "cut")
        if trouble is not None:
            raise httpx.ReadError("connection lost", request=request)
        return httpx.Response(200, json=self.state())

    def state(self) -> dict[str, object]:
        return {"next_byte": len(self.data), "complete": len(self.data) == self.size_bytes}

    def _take(self, body: bytes, where: str, *, cut: bool) -> None:
        start = int(re.findall(r"\d+", where)[0])
        assert start <= len(self.data), "a gap"
        kept = body[: len(body) // 2] if cut else body
        self.data = self.data[:start] + kept + self.data[start + len(kept) :]
