"""The canonical JSON form for digests: sorted keys, no spaces, UTF-8, finite numbers."""

import hashlib
import json
from typing import Any


def canonical_json(value: Any) -> bytes:
    """Return the canonical encoding; equal values give equal bytes."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def sha256_digest(value: Any) -> str:
    """Return `sha256:<hex>` of the canonical encoding."""
    return "sha256:" + hashlib.sha256(canonical_json(value)).hexdigest()
