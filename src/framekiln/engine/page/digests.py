"""Digests of everything that decides the pixels of a page's slices, and its sound.

Only declarative pages have digests: each of their frames depends on its time and on the inputs that
were loaded before frame 0. If a page has no scripts, what is hidden in a slice does not count for
it (`FrameInputs`). Otherwise all inputs count for each slice, so a page that changes in any way is
filmed again, and one that is sent twice is not.
"""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Final

from framekiln.capture.bridged_page import BridgedPage
from framekiln.capture.installed_fonts import installed_fonts_digest
from framekiln.capture.network import Mention
from framekiln.capture.page import Page
from framekiln.engine.assets import TrackedAssets, file_digest
from framekiln.engine.audio_clips import PageAudioClip
from framekiln.engine.engine_version import engine_version
from framekiln.engine.film_order import FilmOrder, PageMethod, small_film_reason
from framekiln.engine.film_plan import FilmDigests, FilmPlan, FilmSlice, cut_slices
from framekiln.engine.page.frame_inputs import FrameInputs
from framekiln.engine.page.warnings import PageWarnings
from framekiln.engine.site import Site
from framekiln.kit.canonical_json import sha256_digest
from framekiln.kit.errors import FramekilnError
from framekiln.kit.ranged_path import RangedPath

# Layers are found, and drawn, in the page as a whole.
_MAY_BE_COMPOSED: Final = "its frames may be composed"


@dataclass
class PageDigests:
    """The digests of one page, opened and ready for frame 0. Owned by the page's thread."""

    order: FilmOrder
    plan: FilmPlan
    page: Page
    page_warnings: PageWarnings
    is_declarative: bool
    encoding: str
    """All settings of the encoder, and how frames are grabbed."""

    def __post_init__(self) -> None:
        assets = self.order.assets
        self._tracked = assets if isinstance(assets, TrackedAssets) else TrackedAssets(assets)
        self._is_tracked = assets is self._tracked
        self._known = frozenset(self._tracked.fetched)
        self._first_warnings = self.page_warnings.collect()
        self._inputs: str | None = None
        self.films_scenes = False
        """Whether the page is filmed so that its slices can be reused one by one."""
        self._whole_reason, self._frame_inputs = self._describe()

    def of(self, slices: Sequence[FilmSlice]) -> FilmDigests:
        """Return the digests of slices and audio; none if equal inputs may look different."""
        unknown = FilmDigests((None,) * len(slices))
        if not self._is_determined:
            return unknown
        try:
            inputs, sources = self._all_inputs(), self._sound_sources()
        except FramekilnError:
            # A source that cannot be read any more will fail the film, or has failed it.
            return unknown
        digests = tuple(
            sha256_digest([inputs, self._slice_inputs(each), each.first_frame, each.frame_count])
            for each in slices
        )
        return FilmDigests(digests, self._sound(sources), sources)

    @property
    def whole_reason(self) -> str | None:
        """Why any change of the page makes all its slices anew; only where reuse is wanted."""
        return self._whole_reason if self._is_tracked else None

    @property
    def is_cacheable(self) -> bool:
        """Whether the digests cover every input of what was rendered so far."""
        known = self._known | {clip.source for clip in self._clips}
        return (
            self._is_determined
            and not self._tracked.fetched_other_than(known)
            and self.page_warnings.collect() == self._first_warnings
        )

    @property
    def _is_determined(self) -> bool:
        """Whether equal inputs give equal pixels, as far as that is known."""
        reads_parts = any(isinstance(path, RangedPath) for path in self._tracked.paths)
        return (
            self._is_tracked
            and self.is_declarative
            and not isinstance(self.page, BridgedPage)
            and not self.plan.has_page_audio
            and not self.page.script_sound.has_begun
            and not self.page.has_waited
            and not self.page.reported_problems()
            and not self.page_warnings.has_fetch_errors
            and Mention.RANDOMNESS not in self.page_warnings.network.mentions
            # Its digest would need the whole source.
            and not reads_parts
        )

    def _describe(self) -> tuple[str | None, FrameInputs | None]:
        """Return what counts for single slices, or why the whole page does."""
        if not self._is_determined:
            return "equal pages may look different", None
        if self.order.page_method is PageMethod.COMPOSED:
            return _MAY_BE_COMPOSED, None
        if "shadowroot" in self.order.html.lower():
            return "it has shadow roots", None
        timeline = self.plan.timeline
        inputs = FrameInputs(self.page.frame_inputs(timeline.frame_count))
        if inputs.obstacle is not None:
            return inputs.obstacle, None
        small = small_film_reason(self.plan.size, timeline.frame_count)
        if self.order.page_method is PageMethod.AUTO and small is None:
            # Making one slice of many anew saves more than composing all.
            self.films_scenes = inputs.has_scenes(cut_slices(timeline))
            return (None, inputs) if self.films_scenes else (_MAY_BE_COMPOSED, None)
        return None, inputs

    @property
    def _clips(self) -> tuple[PageAudioClip, ...]:
        clips = self.plan.audio_clips
        return tuple(clip for clip in clips if isinstance(clip, PageAudioClip))

    def _slice_inputs(self, slice_: FilmSlice) -> list[object]:
        """Return what else counts for a slice if the page as a whole does not."""
        if self._frame_inputs is None:
            return []
        digest, unused = self._frame_inputs.digest(slice_)
        return [digest, _asset_digests(self._tracked, self._known - unused)]

    def _all_inputs(self) -> str:
        """Return a digest of what counts for every slice."""
        if self._inputs is None:
            order, plan = self.order, self.plan
            is_whole = self._frame_inputs is None
            # A bundle contains its page, too; what counts of it is known already.
            known_page = None if is_whole else order.html
            site = None if order.site is None else _site_digest(order.site, known_page)
            self._inputs = sha256_digest(
                {
                    "engine": engine_version(),
                    "browser": self.page.browser.version,
                    "fonts": installed_fonts_digest(),
                    "html": order.html if is_whole else None,
                    "data": order.data,
                    "site": site,
                    "assets": _asset_digests(self._tracked, self._known) if is_whole else None,
                    "method": order.page_method.value,
                    "encoding": self.encoding,
                    "size": [plan.size.width_px, plan.size.height_px],
                    "fps": str(plan.timeline.fps),
                    "frames": plan.timeline.frame_count,
                }
            )
        return self._inputs

    def _sound_sources(self) -> dict[str, str]:
        return {clip.source: self._tracked.digest(clip.source) for clip in self._clips}

    def _sound(self, sources: dict[str, str]) -> str:
        plan = self.plan
        settings = (plan.mastering, plan.sound_settings)
        return sha256_digest(
            {
                "engine": engine_version(),
                "pieces": [[_clip_facts(clip), sources[clip.source]] for clip in self._clips],
                "settings": repr(settings),
                "length_s": str(Fraction(plan.timeline.frame_count) / plan.timeline.fps),
            }
        )


def _asset_digests(tracked: TrackedAssets, addresses: Collection[str]) -> list[list[str]]:
    return [
        [url, tracked.fetched[url].content_type, tracked.digest(url)] for url in sorted(addresses)
    ]


def _site_digest(site: Site, known_page: str | None) -> str:
    sums = hashlib.sha256()
    index = site.folder / "index.html"
    is_known = known_page is not None and index.is_file()
    is_known = is_known and index.read_bytes() == (known_page or "").encode()
    for path in sorted(site.folder.rglob("*")):
        if path.is_file() and not (is_known and path == index):
            sums.update(f"{path.relative_to(site.folder)}\n{file_digest(path)}\n".encode())
    return sums.hexdigest()


def _clip_facts(clip: PageAudioClip) -> dict[str, object]:
    # The element and the address of the source do not change the audio.
    facts = asdict(clip)
    return {name: facts[name] for name in facts if name not in ("element", "src", "file_id")}
