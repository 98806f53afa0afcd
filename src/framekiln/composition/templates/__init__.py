"""Templates of v2: a layer config with named inputs, filled with data. Pure."""

from framekiln.composition.templates.inputs import RemoteCheck
from framekiln.composition.templates.schema import template_schema
from framekiln.composition.templates.template import (
    NOT_CHECKED,
    FilledTemplate,
    InvalidData,
    InvalidTemplate,
    ParsedTemplate,
    Template,
    fill_template,
    open_template,
    read_template,
)

__all__ = [
    "NOT_CHECKED",
    "FilledTemplate",
    "InvalidData",
    "InvalidTemplate",
    "ParsedTemplate",
    "RemoteCheck",
    "Template",
    "fill_template",
    "open_template",
    "read_template",
    "template_schema",
]
