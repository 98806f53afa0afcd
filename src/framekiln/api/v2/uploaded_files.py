"""Files and addresses sent beside a config: parts named `file<layer id>` and `url<layer id>`."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from starlette.datastructures import UploadFile

from framekiln.api.v2.forms import Form
from framekiln.engine.assets import MAX_ASSET_BYTES
from framekiln.kit.errors import TooLarge
from framekiln.videos.uploaded_sources import UploadedSource

_FILE: Final = "file"
_URL: Final = "url"


def files_by_layer(form: Form) -> dict[str, UploadFile]:
    """Return the uploaded files by the id of their layer."""
    return {
        name.removeprefix(_FILE): file
        for name, file in form.files.items()
        if name.startswith(_FILE) and name != _FILE
    }


def urls_by_layer(form: Form) -> dict[str, str]:
    """Return the addresses by the id of their layer."""
    return {
        name.removeprefix(_URL): value
        for name, value in form.values.items()
        if name.startswith(_URL) and name != _URL and isinstance(value, str)
    }


def address_field(layer_id: str) -> str:
    """Return the name of the field with the address of a layer's source."""
    return f"{_URL}{layer_id}"


@asynccontextmanager
async def saved_to_disk(file: UploadFile) -> AsyncIterator[UploadedSource]:
    """Yield an uploaded file as a local one, alone in its folder."""
    if (file.size or 0) > MAX_ASSET_BYTES:
        raise TooLarge(
            f"a file is larger than {MAX_ASSET_BYTES} bytes", limit_bytes=MAX_ASSET_BYTES
        )
    with tempfile.TemporaryDirectory(prefix="framekiln-sent-") as folder:
        path = Path(folder) / "source"
        await asyncio.to_thread(_copy, file, path)
        yield UploadedSource(path, file.content_type)


def _copy(file: UploadFile, path: Path) -> None:
    file.file.seek(0)
    with path.open("wb") as target:
        shutil.copyfileobj(file.file, target)
