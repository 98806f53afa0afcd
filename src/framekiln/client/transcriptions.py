"""Transcriptions on the service: start them, wait for them, read them."""

from typing import Final, Literal

from framekiln.client.model import RemoteTranscription
from framekiln.client.operations import Connection_co, Items, RemotePart, Steps, listing, operation
from framekiln.client.responses import Json, OnFraction

_TRANSCRIPTIONS: Final = "/api/v1/transcriptions"

TextForm = Literal["json", "vtt", "srt"]


class RemoteTranscriptions(RemotePart[Connection_co]):
    """The transcriptions of an organization."""

    @operation
    def create(self, file_id: str, track_id: int | None = None) -> Steps[RemoteTranscription]:
        """Transcribe a track of a file, by default the first audio track. Idempotent."""
        body = {} if track_id is None else {"trackId": track_id}
        path = f"/api/v1/files/{file_id}/transcribe"
        return RemoteTranscription.of((yield from self._read("POST", path, json=body)))

    @operation
    def get(self, transcription_id: str) -> Steps[RemoteTranscription]:
        """Return a transcription."""
        path = f"{_TRANSCRIPTIONS}/{transcription_id}"
        return RemoteTranscription.of((yield from self._read("GET", path)))

    @listing
    def list(self, *, file_id: str | None = None) -> Items[RemoteTranscription]:
        """Yield transcriptions, newest first."""
        return self._items(
            _TRANSCRIPTIONS, "transcriptions", RemoteTranscription.of, file_id=file_id
        )

    @operation
    def wait(
        self, transcription_id: str, on_fraction: OnFraction = lambda _: None
    ) -> Steps[RemoteTranscription]:
        """Return a transcription when it is complete, or raise `EndedBadly` with the reason."""
        path = f"{_TRANSCRIPTIONS}/{transcription_id}"
        yield from self._follow(f"{path}/progress", on_fraction)
        return RemoteTranscription.of((yield from self._read("GET", path)))

    @operation
    def of_file(self, file_id: str) -> Steps[RemoteTranscription]:
        """Return the newest transcription of a file."""
        raw = yield from self._read("GET", f"/api/v1/files/{file_id}/transcription")
        return RemoteTranscription.of(raw)

    @operation
    def text(
        self, transcription_id: str, form: TextForm = "vtt", *, word_times: bool = False
    ) -> Steps[str]:
        """Return the text as WebVTT, SubRip or JSON; WebVTT with the time of each word if asked."""
        path = f"{_TRANSCRIPTIONS}/{transcription_id}.{form}"
        asked = {"word_times": "true"} if word_times else {}
        return (yield from self._request("GET", path, params=asked)).text

    @operation
    def fragment(self, transcription_id: str, number: int) -> Steps[Json]:
        """Return the words of one slice, also while others are being recognized."""
        path = f"{_TRANSCRIPTIONS}/{transcription_id}/fragments/{number}"
        return (yield from self._read("GET", path))

    @operation
    def corrections(self, transcription_id: str) -> Steps[tuple[Json, ...]]:
        """Return what people have corrected in the track, in order of time."""
        raw = yield from self._read("GET", f"{_TRANSCRIPTIONS}/{transcription_id}/corrections")
        return tuple(raw["corrections"])

    @operation
    def correct(
        self, transcription_id: str, start_ms: int, *, end_ms: int, text: str
    ) -> Steps[Json]:
        """Replace the words of a span; a new transcription keeps this."""
        path = f"{_TRANSCRIPTIONS}/{transcription_id}/corrections/{start_ms}"
        return (yield from self._read("PUT", path, json={"end_ms": end_ms, "text": text}))

    @operation
    def delete_correction(self, transcription_id: str, start_ms: int) -> Steps[Json]:
        """Delete a correction, and return what it was."""
        path = f"{_TRANSCRIPTIONS}/{transcription_id}/corrections/{start_ms}"
        # Without retries: after a deletion, a second attempt gets an error.
        return (yield from self._read_once("DELETE", path))
