"""From `LayerConfig` back to JSON: the one normal form that is shown, stored and digested."""

from collections.abc import Mapping
from typing import Any, Final

from framekiln.composition.layers.reading import WRITTEN
from framekiln.composition.layers.values import LayerConfig
from framekiln.kit.canonical_json import sha256_digest

# They change nothing that is seen or heard.
_NOT_DIGESTED: Final = ("metadata", "filename", "callback")


def write_config(config: LayerConfig) -> dict[str, Any]:
    """Return `parsed_config`: defaults filled in, `source` as `file`, colours `#RRGGBBAA`.

    Reading it again gives an equal config.
    """
    return WRITTEN.write(config)


def config_digest(config: LayerConfig, assets: Mapping[str, str] | None = None) -> str:
    """Return the digest of what a film will look and sound like.

    `assets` are digests of the sources' bytes, by address. Equal digests mean equal films.
    """
    written = {k: v for k, v in write_config(config).items() if k not in _NOT_DIGESTED}
    return sha256_digest({"config": written, "assets": dict(assets or {})})
