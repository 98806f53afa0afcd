"""Framekiln: HTML or a JSON layer config in, an MP4 or a still out."""

__version__: str


def __getattr__(name: str) -> str:
    # Reading the version of an installed package takes longer to import than most of the command
    # line, and only the api tells it.
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415

        return version("framekiln")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
