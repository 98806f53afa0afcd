"""publish: where the input file, or a redaction of it, can be played.

Makes nothing: players' requests do.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from framekiln.files.model import File
from framekiln.files.service import Files
from framekiln.kit.errors import CompositionFailed
from framekiln.kit.ids import RenderId
from framekiln.pipelines.definition.model import Step, StepSettings
from framekiln.pipelines.definition.step_rules import DefinitionWarning, TypedGraph
from framekiln.pipelines.errors import RedactionFailed
from framekiln.pipelines.execution.step_type import StepServices, StepType, StepWork
from framekiln.pipelines.outputs.model import StepOutput
from framekiln.pipelines.schema.field_types import SortedSet
from framekiln.pipelines.schema.issues import IssueCode, Location
from framekiln.playback.manifests.links import ManifestLinks
from framekiln.renders.errors import RenderNotFound
from framekiln.renders.service import Renders

ORIGINAL: Final = "original"
REDACTED: Final = "redacted"
_MANIFESTS = {"hls": "manifest.m3u8", "dash": "manifest.mpd"}


class AmbiguousRedaction(CompositionFailed):
    """A step publishes a redaction, and several are equally near."""

    code = "redaction_ambiguous"


@dataclass(frozen=True, kw_only=True)
class PublishSettings(StepSettings):
    """`with` of a publish step."""

    formats: Annotated[tuple[Literal["dash", "hls"], ...], SortedSet(maximum=2)] = ("hls",)
    source: Literal["original", "redacted"] = ORIGINAL
    """The input file, or the nearest redaction before the step."""


class PublishStep(StepType):
    """Returns URLs."""

    name = "publish"
    settings = PublishSettings

    def check(self, step: Step, steps: TypedGraph, place: Location) -> None:
        """Report a redaction to be published where there is none, or no single nearest one."""
        settings = step.settings
        if not isinstance(settings, PublishSettings) or settings.source != REDACTED:
            return
        nearest = next(nearest_redactions(steps, step.key), [])
        if len(nearest) != 1:
            code = IssueCode.AMBIGUOUS if nearest else IssueCode.NOT_UPSTREAM
            (place / "with" / "source").report(code)

    def warnings(
        self, key: str, written: Mapping[str, Any], steps: TypedGraph
    ) -> Iterable[DefinitionWarning]:
        """Warn where nobody said whether the redaction before it is to be published."""
        nearest = next(nearest_redactions(steps, key), [])
        if nearest and "source" not in written.get("with", {}):
            yield _missing_source_warning(key, nearest[0])

    def open_runner(self, services: StepServices) -> "PublishRunner":
        """Return what runs publish steps."""
        return PublishRunner(services.files, services.renders, services.public_url)


STEP_TYPE: Final = PublishStep()


@dataclass(frozen=True)
class PublishRunner:
    """Runs publish steps."""

    files: Files
    renders: Renders
    public_url: str

    async def run(self, work: StepWork) -> StepOutput:
        """Return addresses that need an API key, a session or a URL token."""
        self.files.check_readable(work.file)
        settings = work.step.settings
        assert isinstance(settings, PublishSettings)
        redaction = _redaction_before(work) if settings.source == REDACTED else None
        if redaction is None:
            return self._original(work.file, settings)
        await self._check_there(work, redaction)
        return self._redacted(work.file, settings, redaction)

    def _original(self, file: File, settings: PublishSettings) -> StepOutput:
        source_url = f"{self.public_url}/api/v1/files/{file.id}/content"
        metadata: dict[str, Any] = {"file_id": str(file.id), "source": ORIGINAL}
        # A file that was uploaded as tracks is nowhere whole.
        if file.has_source:
            metadata["source_url"] = source_url
        return StepOutput(metadata | self._manifests(source_url, settings))

    def _redacted(
        self, file: File, settings: PublishSettings, redaction: Mapping[str, Any]
    ) -> StepOutput:
        source_url = redaction["output_url"]
        metadata = {
            "file_id": str(file.id),
            "source": REDACTED,
            "render_id": redaction["render_id"],
            "source_url": source_url,
        }
        return StepOutput(metadata | self._manifests(source_url, settings))

    def _manifests(self, source_url: str, settings: PublishSettings) -> dict[str, str]:
        links = ManifestLinks(source_url)
        return {
            f"{name}_url": links.absolute(self.public_url, _MANIFESTS[name])
            for name in settings.formats
        }

    async def _check_there(self, work: StepWork, redaction: Mapping[str, Any]) -> None:
        render_id = RenderId(UUID(redaction["render_id"]))
        try:
            await self.renders.get(work.run.organization_id, render_id)
        except RenderNotFound as error:
            raise RedactionFailed(f"render {render_id} was deleted") from error


def nearest_redactions(steps: TypedGraph, key: str) -> Iterator[list[str]]:
    """Yield the redactions that a step needs, nearest first; those equally near come together."""
    return steps.nearest(key, lambda each: each.produces_redaction)


def _redaction_before(work: StepWork) -> Mapping[str, Any] | None:
    """Return the output of the nearest redaction that hid anything; None if none did.

    One that was skipped hides nothing, so what an earlier one hid must not come back.
    """
    for level in nearest_redactions(work.graph, work.step.key):
        namespaces = [work.definition.steps[key].namespace for key in level]
        outputs = [work.inputs[namespace].metadata for namespace in namespaces]
        made = [each for each in outputs if each["status"] == "complete"]
        if len(made) > 1:
            names = ", ".join(level)
            raise AmbiguousRedaction(
                f"the steps {names} are equally near and hide different things: let the step to"
                " be published come after the others"
            )
        if made:
            return made[0]
    return None


def _missing_source_warning(key: str, redaction: str) -> DefinitionWarning:
    return DefinitionWarning(
        f"steps.{key}.with.source",
        "original_published",
        f"step {key} comes after the redaction {redaction} and publishes the original, in which"
        f' nothing is hidden: set "source" to "{REDACTED}" to publish the redaction, or'
        f' to "{ORIGINAL}" if the original is meant',
    )
