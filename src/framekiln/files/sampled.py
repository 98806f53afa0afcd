"""Where pictures taken from a video are kept: by the instant they show, whoever wanted them.

The same instant of a file always gives the same picture, so all who take it write the same bytes.
They go with their file.
"""

from framekiln.files.model import file_prefix
from framekiln.kit.ids import FileId, OrganizationId


def frames_prefix(organization: OrganizationId, file: FileId) -> str:
    """Return where all pictures of a file are kept."""
    return f"{file_prefix(organization, file)}/frames"


def frame_key(organization: OrganizationId, file: FileId, at_ms: int) -> str:
    """Return where the picture of an instant is kept, if somebody has taken it."""
    return f"{frames_prefix(organization, file)}/{at_ms}.jpg"
