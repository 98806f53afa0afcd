"""Fetches every source of a config once, and finds out what each is."""

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from framekiln.composition.layers import LayerConfig, PixelSize, SourceFacts, Unusable
from framekiln.composition.layers.numbers import seconds
from framekiln.composition.layers.sources import addresses_of
from framekiln.composition.layers.values import (
    GroupLayer,
    Layer,
    LottieLayer,
    SequenceLayer,
    SubtitlesLayer,
)
from framekiln.engine.assets import Assets, LocalAsset
from framekiln.engine.watched_assets import file_digest
from framekiln.kit.errors import FramekilnError, InvalidInput
from framekiln.media.captions import read_captions
from framekiln.media.imaging.image_facts import image_facts
from framekiln.media.imaging.images import SVG_TYPE, ImageSource, image_type
from framekiln.media.probe import probe

_AT_ONCE: Final = 6
_LARGEST_ANIMATION_BYTES: Final = 32 << 20


@dataclass(frozen=True)
class Gathered:
    """The sources of a config, by address."""

    files: dict[str, LocalAsset] = field(default_factory=dict)
    media: dict[str, SourceFacts | Unusable] = field(default_factory=dict)
    may_come: set[str] = field(default_factory=set)
    """Those that could not be had this time, and perhaps can be later."""
    _digests: dict[str, str] = field(default_factory=dict, init=False)

    def digest(self, address: str) -> str:
        """Return the digest of a source's bytes; they are read once, when it is first asked."""
        if address not in self._digests:
            self._digests[address] = file_digest(self.path(address))
        return self._digests[address]

    def path(self, address: str) -> Path:
        """Return where a source that can be used lies."""
        return self.files[address].path


def gather(config: LayerConfig, assets: Assets) -> Gathered:
    """Return all sources; what is wrong with one is told by its facts, never raised."""
    gathered = Gathered()
    wanted: dict[str, Layer] = {}
    for layer in every_layer(config.layers):
        for address in addresses_of(layer):
            wanted.setdefault(address, layer)
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="sources") as threads:
        found = threads.map(lambda item: _find(item[0], item[1], assets), wanted.items())
        for address, (asset, facts, may_come) in zip(wanted, found, strict=True):
            gathered.media[address] = facts
            if asset is not None:
                gathered.files[address] = asset
            if may_come:
                gathered.may_come.add(address)
    return gathered


def every_layer(layers: Sequence[Layer]) -> Iterator[Layer]:
    """Yield layers and what is in them."""
    for layer in layers:
        yield layer
        if isinstance(layer, GroupLayer | SequenceLayer):
            yield from every_layer(layer.layers)


def _find(
    address: str, layer: Layer, assets: Assets
) -> tuple[LocalAsset | None, SourceFacts | Unusable, bool]:
    try:
        asset = assets.fetch(address)
    except FramekilnError as error:
        reason = f"{address[:200]} could not be fetched: {error.message}"
        return None, Unusable("asset_unreachable", reason), error.retryable
    try:
        return asset, source_facts(asset.path, layer), False
    except FramekilnError as error:
        reason = f"{address[:200]} cannot be used: {error.message}"
        return asset, Unusable("asset_unsupported", reason), False


def source_facts(path: Path, layer: Layer) -> SourceFacts:
    """Return what a file is, as a layer of that kind would use it."""
    if isinstance(layer, SubtitlesLayer):
        read_captions(path.read_bytes())
        return SourceFacts()
    if isinstance(layer, LottieLayer):
        return _lottie_facts(read_animation(path))
    found = image_type(path)
    if found is not None:
        return _image_facts(path, found)
    facts = probe(path)
    video = facts.video
    return SourceFacts(
        size=PixelSize(video.width_px, video.height_px) if video else None,
        duration_s=seconds(facts.duration_ms / 1000),
        has_sound=facts.audio is not None,
    )


def read_animation(path: Path) -> dict[str, Any]:
    """Return the Lottie animation in a file."""
    if path.stat().st_size > _LARGEST_ANIMATION_BYTES:
        raise InvalidInput("the animation is larger than 32 MiB")
    try:
        animation = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the animation is not JSON: {error}") from error
    numbers = (
        [animation.get(name) for name in ("w", "h", "fr", "op")]
        if isinstance(animation, dict)
        else [None]
    )
    if not all(isinstance(number, int | float) and number > 0 for number in numbers):
        raise InvalidInput("the file is no Lottie animation: w, h, fr and op are missing")
    assert isinstance(animation, dict)
    return animation


def _lottie_facts(animation: dict[str, Any]) -> SourceFacts:
    frames = Fraction(str(animation["op"])) - Fraction(str(animation.get("ip") or 0))
    return SourceFacts(
        size=PixelSize(float(animation["w"]), float(animation["h"])),
        duration_s=seconds(max(Fraction(0), frames) / Fraction(str(animation["fr"]))),
    )


def _image_facts(path: Path, kind: str) -> SourceFacts:
    if kind == SVG_TYPE:
        drawing = image_facts(path)
        return SourceFacts(size=PixelSize(drawing.width_px, drawing.height_px))
    with ImageSource(path) as image:
        width, height = image.size
        length_s = Fraction(image.duration_ms, 1000)
    return SourceFacts(size=PixelSize(width, height), duration_s=length_s or None)
