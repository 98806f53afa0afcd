"""The settings of a command, read from the environment; fast to import."""

from functools import partial

from pydantic import ValidationError

from framekiln.kit.errors import InvalidInput
from framekiln.kit.field_messages import field_message
from framekiln.kit.lazy_log import LazyLogger
from framekiln.settings import Settings


class InvalidSetting(InvalidInput):
    """An environment variable has a value that cannot be used."""

    code = "invalid_setting"


def load_settings() -> Settings:
    """Read the environment and configure logging."""
    settings = read_settings()
    _configure_logs(settings)
    return settings


def load_settings_to_log_rarely() -> Settings:
    """Read the environment; a `LazyLogger` configures logging with its first line."""
    settings = read_settings()
    LazyLogger.configure = partial(_configure_logs, settings)
    return settings


def read_settings() -> Settings:
    """Read the environment."""
    try:
        return Settings()
    except ValidationError as error:
        problems = (
            f"{_place(each['loc'])}: {field_message(each['type'], each['msg'])}"
            for each in error.errors()
        )
        raise InvalidSetting("; ".join(problems)) from error


def _place(location: tuple[int | str, ...]) -> str:
    return ".".join(map(str, location)) or "settings"


def _configure_logs(settings: Settings) -> None:
    # Takes as long to import as the settings; commands that only ask a service write no log.
    from framekiln.kit.logs import configure_logs  # noqa: PLC0415

    configure_logs(settings.log_format)
