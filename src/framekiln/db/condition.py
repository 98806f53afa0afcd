"""Conditions that one domain contributes to a statement of another."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, LiteralString


@dataclass(frozen=True)
class Condition:
    """SQL of a condition, with named parameters."""

    text: LiteralString
    parameters: Mapping[str, Any]
