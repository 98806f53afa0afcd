"""Which FFmpeg this is: other versions may decode or encode to other bytes."""


def library_versions() -> str:
    """Return the versions of PyAV and of the libraries under it."""
    # Asked by workers that have a render, not by everybody who plans one.
    import av  # noqa: PLC0415

    libraries = sorted(av.library_versions.items())
    return f"av {av.__version__} " + " ".join(
        f"{name} {'.'.join(map(str, version))}" for name, version in libraries
    )
