"""The settings of a command, read from the environment; fast to import."""

from pydantic import ValidationError

from framekiln.kit.errors import InvalidInput
from framekiln.kit.logs import configure_logs
from framekiln.settings import Settings


class InvalidSetting(InvalidInput):
    """An environment variable has a value that cannot be used."""

    code = "invalid_setting"


def load_settings() -> Settings:
    """Read the environment and configure logging."""
    try:
        settings = Settings()
    except ValidationError as error:
        problems = (f"{_place(problem['loc'])}: {problem['msg']}" for problem in error.errors())
        raise InvalidSetting("; ".join(problems)) from error
    configure_logs(settings.log_format)
    return settings


def _place(location: tuple[int | str, ...]) -> str:
    return ".".join(map(str, location)) or "settings"
