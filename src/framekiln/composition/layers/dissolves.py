"""Finds fades of two adjacent layers that are one dissolve, so that no background shows through."""

from collections.abc import Sequence
from dataclasses import replace

from framekiln.composition.layers.resolved import Dissolve, ResolvedLayer
from framekiln.composition.layers.values import AudioLayer, FilterLayer


def mark_dissolves(
    layers: Sequence[ResolvedLayer],
) -> tuple[list[ResolvedLayer], list[Dissolve]]:
    """Return the layers of one container, with dissolving ones marked, and the dissolves.

    Two layers dissolve if one crossfades out and the other in while they overlap, and both fades
    last as long as the overlap, within one frame.
    """
    found: list[Dissolve] = []
    leaving = [layer for layer in layers if _is_picture(layer) and layer.fades.crossfade_out_s]
    coming = [layer for layer in layers if _is_picture(layer) and layer.fades.crossfade_in_s]
    for old in leaving:
        partners = [new for new in coming if new is not old and _fits(old, new)]
        if not partners:
            continue
        new = min(partners, key=lambda layer: abs(layer.start_s - old.end_s))
        coming.remove(new)
        found.append(Dissolve(old.id, new.id, new.start_s, old.end_s))
    outs = {dissolve.from_id: dissolve for dissolve in found}
    ins = {dissolve.to_id: dissolve for dissolve in found}
    marked = [
        replace(layer, dissolve_in=ins.get(layer.id), dissolve_out=outs.get(layer.id))
        for layer in layers
    ]
    return marked, found


def _is_picture(layer: ResolvedLayer) -> bool:
    return not isinstance(layer.layer, AudioLayer | FilterLayer)


def _fits(old: ResolvedLayer, new: ResolvedLayer) -> bool:
    # Most pairs end here, before any arithmetic: there may be 250,000 of them.
    if not old.start_s <= new.start_s < old.end_s <= new.end_s:
        return False
    overlap, frame = old.end_s - new.start_s, 1 / old.fps
    return (
        abs(overlap - old.fades.crossfade_out_s) <= frame
        and abs(overlap - new.fades.crossfade_in_s) <= frame
    )
