"""The forms of names in definitions and outputs."""

import re

from framekiln.pipelines.schema.shapes import Text

NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
"""A step key or a namespace."""

STEP_NAME = Text(pattern=NAME)
ANNOTATION_KIND = Text(maximum=128)
MAX_KINDS = 32
