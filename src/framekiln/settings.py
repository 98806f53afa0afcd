"""Everything that can be set from outside, read from the environment once at start."""

import ipaddress
import os
import re
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

MIN_SECRET_BYTES = 32
MIN_METRICS_TOKEN_CHARS = 16
ORIGIN = re.compile(r"https?://[^\s/?#@*]+")
_ADDRESS = re.compile(ORIGIN.pattern + r"(/[^\s?#]*)?", re.IGNORECASE)
METRICS_FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""With it, prometheus_client keeps counters in files, which several processes can add up."""
HOST_NAME = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*")

SpeechEngine = Literal["auto", "whisper", "moonshine", "pocketsphinx"]


def default_data_folder() -> Path:
    """Return where data goes when nobody says: a place the user owns and that survives clones."""
    if os.geteuid() == 0:
        return Path("/var/lib/framekiln")
    return Path(os.environ.get("XDG_DATA_HOME", "~/.local/share")).expanduser() / "framekiln"


class Settings(BaseModel):
    """The settings; each field's environment variable is in its alias.

    The package pydantic-settings would take longer to import than everything else here.
    """

    model_config = ConfigDict(
        populate_by_name=True, extra="ignore", frozen=True, validate_default=True
    )

    def __init__(self, **values: Any) -> None:
        aliases = {name: str(field.alias) for name, field in type(self).model_fields.items()}
        variables = {name.upper(): value for name, value in os.environ.items()}
        found = {name: variables[name] for name in aliases.values() if name in variables}
        found |= {aliases.get(name, name): value for name, value in values.items()}
        super().__init__(**found)

    host: str = Field(default="127.0.0.1", alias="FRAMEKILN_HOST")
    port: int = Field(default=8080, alias="FRAMEKILN_PORT", ge=1, le=65535)
    data: Path = Field(default_factory=default_data_folder, alias="FRAMEKILN_DATA")
    base_url: str | None = Field(default=None, alias="FRAMEKILN_BASE_URL")
    api_key: str | None = Field(default=None, alias="FRAMEKILN_API_KEY")
    database_url: str | None = Field(default=None, alias="DATABASE_URL")
    storage_url: str | None = Field(default=None, alias="STORAGE_URL")
    fetch_allow: frozenset[str] = Field(default=frozenset(), alias="FRAMEKILN_FETCH_ALLOW")
    fetch_ca_file: Path | None = Field(default=None, alias="FRAMEKILN_FETCH_CA_FILE")
    """Authorities trusted besides the usual ones, for sources on an intranet."""
    secret_keys: tuple[str, ...] = Field(default=(), alias="FRAMEKILN_SECRET_KEYS", repr=False)
    """What signs tokens: the first one signs, all verify. Without any, the database keeps one."""
    allowed_origins: frozenset[str] = Field(default=frozenset(), alias="FRAMEKILN_ALLOWED_ORIGINS")
    """Origins of pages that may act for whoever is logged in, besides our own."""
    allowed_hosts: frozenset[str] = Field(default=frozenset(), alias="FRAMEKILN_ALLOWED_HOSTS")
    """Names besides our own that browsers with a session may reach us by."""
    trusted_proxies: frozenset[str] = Field(default=frozenset(), alias="FRAMEKILN_TRUSTED_PROXIES")
    """Addresses and networks of proxies whose `X-Forwarded-For` is believed."""
    metrics_token: str | None = Field(default=None, alias="FRAMEKILN_METRICS_TOKEN", repr=False)
    """What opens /metrics; without it, only programs on this machine may read it."""
    run_as: str | None = Field(default=None, alias="FRAMEKILN_RUN_AS")
    """As whom root runs the service: a name, `uid` or `uid:gid`; else an account without a name."""
    api_processes: int = Field(default=1, alias="FRAMEKILN_API_PROCESSES", ge=1, le=64)
    """Processes of one `framekiln api`, which share its address."""
    header_timeout_s: int = Field(default=10, alias="FRAMEKILN_HEADER_TIMEOUT_S", ge=1)
    """For the headers of a request to arrive."""
    body_timeout_s: int = Field(default=30, alias="FRAMEKILN_BODY_TIMEOUT_S", ge=1)
    """A body that brings less than 1 KiB in this time is given up."""
    keep_alive_s: int = Field(default=15, alias="FRAMEKILN_KEEP_ALIVE_S", ge=1)
    """For the next request on a connection."""
    max_connections: int = Field(default=800, alias="FRAMEKILN_MAX_CONNECTIONS", ge=1)
    max_connections_per_address: int = Field(
        default=200, alias="FRAMEKILN_MAX_CONNECTIONS_PER_ADDRESS", ge=0
    )
    """0 means no limit, for a service behind a proxy."""
    event_streams_per_key: int = Field(default=50, alias="FRAMEKILN_EVENT_STREAMS_PER_KEY", ge=1)
    event_streams_per_organization: int = Field(
        default=100, alias="FRAMEKILN_EVENT_STREAMS_PER_ORGANIZATION", ge=1
    )
    allow_unconfined: bool = Field(default=False, alias="FRAMEKILN_ALLOW_UNCONFINED")
    """Whether to work where pages and media of strangers cannot be confined."""
    quota_concurrent_renders: int = Field(
        default=50, alias="FRAMEKILN_QUOTA_CONCURRENT_RENDERS", ge=0
    )
    """The quotas are those of each organization that has none of its own; 0 means no limit."""
    quota_render_minutes: int = Field(default=10_000, alias="FRAMEKILN_QUOTA_RENDER_MINUTES", ge=0)
    quota_stored_bytes: int = Field(default=1 << 40, alias="FRAMEKILN_QUOTA_STORED_BYTES", ge=0)
    quota_downloaded_bytes: int = Field(
        default=1 << 40, alias="FRAMEKILN_QUOTA_DOWNLOADED_BYTES", ge=0
    )
    quota_concurrent_copies: int = Field(default=4, alias="FRAMEKILN_QUOTA_CONCURRENT_COPIES", ge=0)
    quota_uploaded_bytes: int = Field(default=1 << 40, alias="FRAMEKILN_QUOTA_UPLOADED_BYTES", ge=0)
    quota_queued_jobs: int = Field(default=10_000, alias="FRAMEKILN_QUOTA_QUEUED_JOBS", ge=0)
    quota_requests_per_minute: int = Field(
        default=12_000, alias="FRAMEKILN_QUOTA_REQUESTS_PER_MINUTE", ge=0
    )
    audit_days: int = Field(default=365, alias="FRAMEKILN_AUDIT_DAYS", ge=0, le=36_500)
    """How long events of the audit log are kept; 0 means for ever."""
    render_slots: int = Field(default=0, alias="FRAMEKILN_RENDER_SLOTS", ge=0)
    """Renders at a time in one worker; 0 means half the cores, at least one."""
    confined_children: int = Field(default=0, alias="FRAMEKILN_CONFINED_CHILDREN", ge=0)
    """Decoders of one process at a time; 0 means two a core, at least four."""
    confined_memory_mib: int = Field(default=0, alias="FRAMEKILN_CONFINED_MEMORY_MIB", ge=0)
    """Memory that they may take together; 0 means half of the machine's."""
    render_timeout_s: int = Field(default=3600, alias="FRAMEKILN_RENDER_TIMEOUT_S", ge=1)
    settle_timeout_s: int = Field(default=30, alias="FRAMEKILN_SETTLE_TIMEOUT_S", ge=1)
    reuse_pages: bool = Field(default=True, alias="FRAMEKILN_REUSE_PAGES")
    page_method: Literal["auto", "filmed", "composed"] = Field(
        default="auto", alias="FRAMEKILN_PAGE_METHOD"
    )
    """How frames of pages are made: drawn by Chromium, or composed where their motion is known."""
    webgl: Literal["swiftshader", "llvmpipe"] = Field(
        default="swiftshader", alias="FRAMEKILN_WEBGL"
    )
    """What draws WebGL: Chromium's own software renderer, or Mesa's, which must be installed."""
    browser_memory_mib: int = Field(default=0, alias="FRAMEKILN_BROWSER_MEMORY_MIB", ge=0)
    """Memory of one Chromium in MiB; 0 means half the machine's, at most 4096."""
    browser_processes: int = Field(default=64, alias="FRAMEKILN_BROWSER_PROCESSES", ge=16)
    browser_threads: int = Field(default=1024, alias="FRAMEKILN_BROWSER_THREADS", ge=128)
    browser_disk_mib: int = Field(default=1024, alias="FRAMEKILN_BROWSER_DISK_MIB", ge=64)
    """Temporary files of one Chromium, in MiB."""
    speech_engine: SpeechEngine = Field(default="auto", alias="FRAMEKILN_SPEECH_ENGINE")
    """Who listens; `auto` is the best of them that is installed."""
    speech_models: Path | None = Field(default=None, alias="FRAMEKILN_SPEECH_MODELS")
    """The folder of the speech models; else `models` in the data, then beside the installation."""
    speech_model: str = Field(default="base", alias="FRAMEKILN_SPEECH_MODEL", min_length=1)
    """`base`, `small`, or the path of a folder with another Whisper model in ONNX form."""
    speech_language: str | None = Field(default=None, alias="FRAMEKILN_SPEECH_LANGUAGE")
    """The language of all speech, such as `en`; else each sound's own is detected."""
    speech_threads: int = Field(default=0, alias="FRAMEKILN_SPEECH_THREADS", ge=0)
    """Threads of one recognizer; 0 means one a core, at most four."""
    log_format: Literal["auto", "json", "console"] = Field(
        default="auto", alias="FRAMEKILN_LOG_FORMAT"
    )

    @field_validator("fetch_allow", "allowed_hosts", "trusted_proxies", mode="before")
    @classmethod
    def _split_hosts(cls, value: object) -> object:
        if isinstance(value, str):
            return frozenset(part.strip().lower() for part in value.split(",") if part.strip())
        return value

    @field_validator("secret_keys", mode="before")
    @classmethod
    def _split_secrets(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("secret_keys")
    @classmethod
    def _long_secrets(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if any(len(secret.encode()) < MIN_SECRET_BYTES for secret in value):
            raise ValueError(f"each secret needs at least {MIN_SECRET_BYTES} bytes")
        return value

    @field_validator("base_url")
    @classmethod
    def _whole_address(cls, value: str | None) -> str | None:
        if value and not _ADDRESS.fullmatch(value):
            raise ValueError(f"{value} is no address such as https://video.example.org")
        return value

    @field_validator("allowed_origins", mode="before")
    @classmethod
    def _split_origins(cls, value: object) -> object:
        if isinstance(value, str):
            parts = (part.strip().lower().rstrip("/") for part in value.split(","))
            return frozenset(part for part in parts if part)
        return value

    @field_validator("allowed_origins")
    @classmethod
    def _plain_origins(cls, value: frozenset[str]) -> frozenset[str]:
        for origin in value:
            if not ORIGIN.fullmatch(origin):
                raise ValueError("an origin looks like https://host or https://host:port")
        return value

    @field_validator("allowed_hosts")
    @classmethod
    def _plain_hosts(cls, value: frozenset[str]) -> frozenset[str]:
        for host in value:
            if not HOST_NAME.fullmatch(host):
                raise ValueError("a host is a name such as kiln.example.org, without a port")
        return value

    @field_validator("trusted_proxies")
    @classmethod
    def _networks(cls, value: frozenset[str]) -> frozenset[str]:
        for network in value:
            ipaddress.ip_network(network)
        return value

    @field_validator("metrics_token")
    @classmethod
    def _long_token(cls, value: str | None) -> str | None:
        if value is not None and len(value) < MIN_METRICS_TOKEN_CHARS:
            raise ValueError(f"the token needs at least {MIN_METRICS_TOKEN_CHARS} characters")
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
    def is_https(self) -> bool:
        """Whether users reach us over HTTPS."""
        return self.public_url.lower().startswith("https://")

    @property
    def slots(self) -> int:
        """How many renders one worker process makes at a time."""
        return self.render_slots or max(1, (os.cpu_count() or 1) // 2)
