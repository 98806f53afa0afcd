"""An external server that sends files whole or in ranges, and counts the sent bytes."""

from collections.abc import Mapping
from pathlib import Path

from tests.support.receiver import Answer, ReceivedRequest, Receiver


class RangedServer(Receiver):
    """Sends files by name. Its attributes control how, at any time."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        super().__init__()
        self._contents = {f"/{name}": path.read_bytes() for name, path in files.items()}
        self.media_type = "video/mp4"
        self.sends_parts = True
        self.tag: str | None = '"one"'
        self.modified: str | None = None
        self.changes_after: int | None = None
        """The number of responses after which the content changes."""
        self.fails_after: int | None = None
        """The number of responses after which requests fail."""
        self.bytes_sent = 0
        self._answers = 0
        self.answer_by(self._find)

    def address(self, name: str) -> str:
        return self.url(f"/{name}")

    def size(self, name: str) -> int:
        return len(self._contents[f"/{name}"])

    def _find(self, request: ReceivedRequest) -> Answer:
        content = self._contents.get(request.path)
        if content is None:
            return Answer(404)
        self._answers += 1
        if self.fails_after is not None and self._answers > self.fails_after:
            return Answer(503)
        is_new = self.changes_after is not None and self._answers > self.changes_after
        tag = '"two"' if is_new else self.tag
        headers = {"Content-Type": self.media_type}
        headers |= {"ETag": tag} if tag else {}
        headers |= {"Last-Modified": self.modified} if self.modified else {}
        asked = request.headers.get("range")
        condition = request.headers.get("if-range")
        if not asked or not self.sends_parts or condition not in (None, tag, self.modified):
            return self._counted(Answer(body=content, headers=headers))
        start, _, last = asked.removeprefix("bytes=").partition("-")
        first, end = int(start), min(int(last) + 1 if last else len(content), len(content))
        headers["Content-Range"] = f"bytes {first}-{end - 1}/{len(content)}"
        return self._counted(Answer(206, content[first:end], headers))

    def _counted(self, answer: Answer) -> Answer:
        self.bytes_sent += len(answer.body)
        return answer
