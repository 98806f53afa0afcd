"""Framekiln: HTML or a JSON layer config in, an MP4 or a still out."""

from importlib.metadata import version

__version__ = version("framekiln")
