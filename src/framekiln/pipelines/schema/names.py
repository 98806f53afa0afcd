"""The forms of names in definitions and outputs."""

import re
from typing import Annotated

from framekiln.pipelines.schema.field_types import Text

NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")

StepName = Annotated[str, Text(pattern=NAME)]
"""A step key or a namespace."""

AnnotationKind = Annotated[str, Text(maximum=128)]
MAX_KINDS = 32
