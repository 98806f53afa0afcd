"""Settings come from the environment, and a value that cannot be is refused with its name."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from framekiln.settings import Settings, default_data_folder


@pytest.fixture(autouse=True)
def _empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for field in Settings.model_fields.values():
        monkeypatch.delenv(str(field.alias), raising=False)


def test_all_settings_are_optional() -> None:
    settings = Settings()
    assert (settings.host, settings.port) == ("127.0.0.1", 8080)
    assert settings.public_url == "http://127.0.0.1:8080"
    assert settings.data == default_data_folder()
    assert settings.fetch_allow == frozenset()
    assert settings.fetch_ca_file is None
    assert settings.slots >= 1


def test_every_setting_has_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {
        "FRAMEKILN_HOST": "0.0.0.0",
        "FRAMEKILN_PORT": "9000",
        "FRAMEKILN_DATA": "/tmp/kiln",
        "FRAMEKILN_BASE_URL": "https://kiln.example/",
        "FRAMEKILN_API_KEY": "ef_a_b",
        "DATABASE_URL": "postgresql://db/kiln",
        "STORAGE_URL": "s3://films",
        "FRAMEKILN_FETCH_ALLOW": " A.example, b.example:8443 ,,",
        "FRAMEKILN_FETCH_CA_FILE": "/etc/kiln/ca.pem",
        "FRAMEKILN_CONFINED_CHILDREN": "8",
        "FRAMEKILN_CONFINED_MEMORY_MIB": "2048",
        "FRAMEKILN_AUDIT_DAYS": "30",
        "FRAMEKILN_RENDER_SLOTS": "3",
        "FRAMEKILN_RENDER_TIMEOUT_S": "60",
        "FRAMEKILN_SETTLE_TIMEOUT_S": "5",
        "FRAMEKILN_PAGE_METHOD": "composed",
        "FRAMEKILN_REUSE_PAGES": "0",
        "FRAMEKILN_WEBGL": "llvmpipe",
        "FRAMEKILN_SECRET_KEYS": "an-operator-chose-these-32-bytes!!",
        "FRAMEKILN_ALLOWED_ORIGINS": "https://app.example",
        "FRAMEKILN_ALLOWED_HOSTS": "kiln.example",
        "FRAMEKILN_TRUSTED_PROXIES": "10.0.0.0/8, 127.0.0.1",
        "FRAMEKILN_METRICS_TOKEN": "an-operator-chose-this",
        "FRAMEKILN_SPEECH_ENGINE": "moonshine",
        "FRAMEKILN_SPEECH_MODELS": "/srv/models",
        "FRAMEKILN_SPEECH_MODEL": "small",
        "FRAMEKILN_SPEECH_LANGUAGE": "en",
        "FRAMEKILN_SPEECH_THREADS": "2",
        "FRAMEKILN_LOG_FORMAT": "json",
        "FRAMEKILN_RUN_AS": "kiln",
        "FRAMEKILN_API_PROCESSES": "2",
        "FRAMEKILN_HEADER_TIMEOUT_S": "10",
        "FRAMEKILN_BODY_TIMEOUT_S": "30",
        "FRAMEKILN_KEEP_ALIVE_S": "15",
        "FRAMEKILN_MAX_CONNECTIONS": "800",
        "FRAMEKILN_MAX_CONNECTIONS_PER_ADDRESS": "200",
        "FRAMEKILN_EVENT_STREAMS_PER_KEY": "50",
        "FRAMEKILN_EVENT_STREAMS_PER_ORGANIZATION": "100",
        "FRAMEKILN_ALLOW_UNCONFINED": "1",
        "FRAMEKILN_BROWSER_MEMORY_MIB": "128",
        "FRAMEKILN_BROWSER_PROCESSES": "64",
        "FRAMEKILN_BROWSER_THREADS": "1024",
        "FRAMEKILN_BROWSER_DISK_MIB": "1024",
        "FRAMEKILN_QUOTA_CONCURRENT_RENDERS": "7",
        "FRAMEKILN_QUOTA_RENDER_MINUTES": "7",
        "FRAMEKILN_QUOTA_STORED_BYTES": "7",
        "FRAMEKILN_QUOTA_DOWNLOADED_BYTES": "7",
        "FRAMEKILN_QUOTA_CONCURRENT_COPIES": "7",
        "FRAMEKILN_QUOTA_UPLOADED_BYTES": "7",
        "FRAMEKILN_QUOTA_QUEUED_JOBS": "7",
        "FRAMEKILN_QUOTA_REQUESTS_PER_MINUTE": "7",
    }
    assert set(values) == {field.alias for field in Settings.model_fields.values()}
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    settings = Settings()
    assert settings.public_url == "https://kiln.example"
    assert settings.data == Path("/tmp/kiln")
    assert settings.fetch_allow == {"a.example", "b.example:8443"}
    assert settings.fetch_ca_file == Path("/etc/kiln/ca.pem")
    assert (settings.slots, settings.render_timeout_s, settings.settle_timeout_s) == (3, 60, 5)
    assert (settings.database_url, settings.storage_url) == ("postgresql://db/kiln", "s3://films")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("FRAMEKILN_PORT", "0"),
        ("FRAMEKILN_PORT", "65536"),
        ("FRAMEKILN_PORT", "http"),
        ("FRAMEKILN_BASE_URL", "kiln.example"),
        ("FRAMEKILN_BASE_URL", "ftp://kiln.example"),
        ("FRAMEKILN_BASE_URL", "https://kiln.example/?a=b"),
        ("FRAMEKILN_RENDER_SLOTS", "-1"),
        ("FRAMEKILN_RENDER_TIMEOUT_S", "0"),
        ("FRAMEKILN_SETTLE_TIMEOUT_S", "0"),
        ("FRAMEKILN_LOG_FORMAT", "xml"),
    ],
)
def test_an_invalid_value_is_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ValidationError) as raised:
        Settings()
    assert [error["loc"] for error in raised.value.errors()] == [(name,)]


def test_the_data_folder_is_always_absolute(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Settings(data=Path("here")).data == tmp_path / "here"
    assert Settings(data=Path("~/there")).data == tmp_path / "there"


def test_settings_are_immutable() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Settings().port = 1  # type: ignore[misc]


def test_an_argument_replaces_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAMEKILN_PORT", "9000")
    assert Settings(port=9001).port == 9001
    assert Settings(FRAMEKILN_PORT=9002).port == 9002
    assert Settings(host="::1").port == 9000


def test_variables_may_be_written_in_lower_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("framekiln_port", "9000")
    assert Settings().port == 9000


def test_variables_without_our_prefix_are_those_of_other_programs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOST", "0.0.0.0")
    monkeypatch.setenv("PORT", "9000")
    assert (Settings().host, Settings().port) == ("127.0.0.1", 8080)
