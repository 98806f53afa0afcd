"""Everything that can be set from outside, read from the environment once at start."""

import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict


def default_data_folder() -> Path:
    """Return where data goes when nobody says: a place the user owns and that survives clones."""
    if os.geteuid() == 0:
        return Path("/var/lib/framekiln")
    return Path(os.environ.get("XDG_DATA_HOME", "~/.local/share")).expanduser() / "framekiln"


class Settings(BaseSettings):
    """The settings; each field's environment variable is in its alias."""

    model_config = SettingsConfigDict(populate_by_name=True, extra="ignore", frozen=True)

    host: str = Field(default="127.0.0.1", alias="FRAMEKILN_HOST")
    port: int = Field(default=8080, alias="FRAMEKILN_PORT", ge=1, le=65535)
    data: Path = Field(default_factory=default_data_folder, alias="FRAMEKILN_DATA")
    base_url: str | None = Field(default=None, alias="FRAMEKILN_BASE_URL")
    api_key: str | None = Field(default=None, alias="FRAMEKILN_API_KEY")
    database_url: str | None = Field(default=None, alias="DATABASE_URL")
    storage_url: str | None = Field(default=None, alias="STORAGE_URL")
    fetch_allow: Annotated[frozenset[str], NoDecode] = Field(
        default=frozenset(), alias="FRAMEKILN_FETCH_ALLOW"
    )
    fetch_ca_file: Path | None = Field(default=None, alias="FRAMEKILN_FETCH_CA_FILE")
    """Authorities trusted besides the usual ones, for sources on an intranet."""
    render_slots: int = Field(default=0, alias="FRAMEKILN_RENDER_SLOTS", ge=0)
    """Renders at a time in one worker; 0 means half the cores, at least one."""
    render_timeout_s: int = Field(default=3600, alias="FRAMEKILN_RENDER_TIMEOUT_S", ge=1)
    settle_timeout_s: int = Field(default=30, alias="FRAMEKILN_SETTLE_TIMEOUT_S", ge=1)
    log_format: Literal["auto", "json", "console"] = Field(
        default="auto", alias="FRAMEKILN_LOG_FORMAT"
    )

    @field_validator("fetch_allow", mode="before")
    @classmethod
    def _split_hosts(cls, value: object) -> object:
        if isinstance(value, str):
            return frozenset(part.strip().lower() for part in value.split(",") if part.strip())
        return value

    @field_validator("data")
    @classmethod
    def _absolute(cls, value: Path) -> Path:
        return value.expanduser().absolute()

    @property
    def public_url(self) -> str:
        """The address users reach us at, without a trailing slash."""
        return (self.base_url or f"http://{self.host}:{self.port}").rstrip("/")

    @property
    def slots(self) -> int:
        """How many renders one worker process makes at a time."""
        return self.render_slots or max(1, (os.cpu_count() or 1) // 2)
