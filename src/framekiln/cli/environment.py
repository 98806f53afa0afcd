"""The settings of a command, read from the environment; fast to import."""

from pydantic import ValidationError

from framekiln.kit.errors import InvalidInput
from framekiln.settings import Settings


class InvalidSetting(InvalidInput):
    """An environment variable has a value that cannot be used."""

    code = "invalid_setting"


def load_settings() -> Settings:
    """Read the environment and configure logging."""
    # Takes as long to import as the settings; commands that only ask a service write no log.
    from framekiln.kit.logs import configure_logs  # noqa: PLC0415

    settings = read_settings()
    configure_logs(settings.log_format)
    return settings


def read_settings() -> Settings:
    """Read the environment."""
    try:
        return Settings()
    except ValidationError as error:
        problems = (f"{_place(problem['loc'])}: {problem['msg']}" for problem in error.errors())
        raise InvalidSetting("; ".join(problems)) from error


def _place(location: tuple[int | str, ...]) -> str:
    return ".".join(map(str, location)) or "settings"
