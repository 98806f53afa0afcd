"""redact_render: has a copy of the file rendered, with annotations hidden or muted in it.

The render is an ordinary one, made by another job. Its id is remembered before it is created, so
that there is one render for an attempt, whichever worker asks for it and however often.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final
from uuid import UUID

from framekiln.files.model import Track, TrackType
from framekiln.files.service import Files
from framekiln.kit.ids import RenderId, new_uuid
from framekiln.pipelines.definition.model import Step, StepSettings
from framekiln.pipelines.definition.step_rules import DefinitionWarning, TypedGraph
from framekiln.pipelines.errors import RedactionFailed
from framekiln.pipelines.execution.step_type import RetryLater, StepServices, StepType, StepWork
from framekiln.pipelines.outputs.model import MAX_KINDS, Annotation, AnnotationKind, StepOutput
from framekiln.pipelines.schema.field_types import SortedSet
from framekiln.pipelines.schema.records import as_json
from framekiln.quotas.model import QuotaExceeded
from framekiln.renders.errors import RenderNotFound
from framekiln.renders.model import Redaction, Render, RenderStatus
from framekiln.renders.service import Renders


@dataclass(frozen=True, kw_only=True)
class RedactRenderSettings(StepSettings):
    """`with` of a redact_render step."""

    kinds: Annotated[tuple[AnnotationKind, ...], SortedSet(maximum=MAX_KINDS)]


class RedactRenderStep(StepType):
    """Waits for a render, which other jobs make."""

    name = "redact_render"
    settings = RedactRenderSettings
    produces_redaction = True

    def redacted_kinds(self, step: Step) -> frozenset[str]:
        """Return the kinds that a step is set to."""
        assert isinstance(step.settings, RedactRenderSettings)
        return frozenset(step.settings.kinds)

    def warnings(
        self, key: str, written: Mapping[str, Any], steps: TypedGraph
    ) -> Iterable[DefinitionWarning]:
        """Warn of a step that can see no annotations."""
        if not steps.needs[key]:
            yield DefinitionWarning(
                f"steps.{key}.needs",
                "nothing_to_redact",
                f"step {key} needs no other step, so there is no annotation that it could hide or"
                ' mute: name the steps that find them in "needs"',
            )

    def open_runner(self, services: StepServices) -> "RedactRenderRunner":
        """Return what runs redact_render steps."""
        return RedactRenderRunner(services.files, services.renders, services.public_url)


STEP_TYPE: Final = RedactRenderStep()


@dataclass(frozen=True)
class RedactRenderRunner:
    """Runs redact_render steps."""

    files: Files
    renders: Renders
    public_url: str

    async def run(self, work: StepWork) -> StepOutput | RetryLater:
        """Return where the redacted video is, once it is there."""
        self.files.check_readable(work.file)
        redaction = await asyncio.to_thread(_redaction_of, work)
        if not redaction.boxes and not redaction.mutes:
            return _output(EffectCounts(), status="skipped")
        render = await self._render(work, redaction)
        if render.failure is not None:
            raise RedactionFailed(f"render {render.id} failed: {render.failure.message}")
        if render.status is not RenderStatus.COMPLETE:
            return RetryLater(done_ms=await self._done_ms(work, render))
        url = f"{self.public_url}/api/v1/renders/{render.id}.mp4"
        tracks = await self.files.tracks(work.run.organization_id, work.file.id)
        counts = count_effects(redaction, tracks)
        return _output(counts, status="complete", render_id=str(render.id), output_url=url)

    async def _done_ms(self, work: StepWork, render: Render) -> int | None:
        """Return how much of the file is done: as large a part as of the render."""
        try:
            progress = await self.renders.progress(render.id)
        except RenderNotFound:
            return None
        return (work.file.duration_ms or 0) * progress.frames_done // progress.frame_count

    async def _render(self, work: StepWork, redaction: Redaction) -> Render:
        """Return the render of this attempt, as it stands; create it if there is none."""
        if work.note is None:
            render_id = RenderId(new_uuid())
            await work.remember({"render_id": str(render_id), "is_created": False})
        else:
            render_id = RenderId(UUID(work.note["render_id"]))
            if work.note["is_created"]:
                return await self._find(work, render_id)
        try:
            render = await self.renders.create_redaction(
                work.run.organization_id,
                redaction,
                render_id=render_id,
                api_key_id=work.run.api_key_id,
                duration_ms=work.file.duration_ms or 0,
            )
        except QuotaExceeded as error:
            # Its window is longer than all attempts would take.
            raise RedactionFailed(f"no render was created: {error.message}") from error
        await work.remember({"render_id": str(render_id), "is_created": True})
        return render

    async def _find(self, work: StepWork, render_id: RenderId) -> Render:
        try:
            return await self.renders.get(work.run.organization_id, render_id)
        except RenderNotFound as error:
            raise RedactionFailed(f"render {render_id} was deleted") from error


def _redaction_of(work: StepWork) -> Redaction:
    """Return what a step has to hide and to mute: all it can read of the kinds it is set to."""
    settings = work.step.settings
    assert isinstance(settings, RedactRenderSettings)
    found = [
        annotation
        for output in work.inputs.values()
        for annotation in output.annotations
        if annotation.kind in settings.kinds
    ]
    return Redaction(
        work.file.id,
        boxes=[_box(each) for each in found if each.keyframes],
        mutes=[_span(each) for each in found if not each.keyframes],
    )


def _box(annotation: Annotation) -> Mapping[str, object]:
    return {**_span(annotation), "keyframes": as_json(annotation.keyframes)}


def _span(annotation: Annotation) -> Mapping[str, object]:
    return {"start_ms": annotation.start_ms, "end_ms": annotation.end_ms}


@dataclass(frozen=True)
class EffectCounts:
    """The numbers of annotations that were hidden, muted, and neither."""

    blurred: int = 0
    muted: int = 0
    without_effect: int = 0


def count_effects(redaction: Redaction, tracks: Collection[Track]) -> EffectCounts:
    """Count those that begin before the end of a track in which they hide or mute something."""

    def count(spans: Iterable[Mapping[str, Any]], type_: TrackType) -> int:
        mine = [each for each in tracks if each.type == type_ and each.track_id > 0]
        ends_ms = [track.end_ms for track in mine]
        return sum(any(end is None or span["start_ms"] < end for end in ends_ms) for span in spans)

    blurred, muted = count(redaction.boxes, "video"), count(redaction.mutes, "audio")
    total = len(redaction.boxes) + len(redaction.mutes)
    return EffectCounts(blurred, muted, total - blurred - muted)


def _output(
    counts: EffectCounts,
    *,
    status: str,
    render_id: str | None = None,
    output_url: str | None = None,
) -> StepOutput:
    return StepOutput(
        {
            "status": status,
            "render_id": render_id,
            "output_url": output_url,
            "blurred_count": counts.blurred,
            "muted_count": counts.muted,
            "without_effect_count": counts.without_effect,
        }
    )
