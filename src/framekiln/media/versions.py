"""Which FFmpeg this is: other versions may decode or encode to other bytes."""

import av


def library_versions() -> str:
    """Return the versions of PyAV and of the libraries under it."""
    libraries = sorted(av.library_versions.items())
    return f"av {av.__version__} " + " ".join(
        f"{name} {'.'.join(map(str, version))}" for name, version in libraries
    )
