"""What an installation consists of: writes NOTICE (licences) and an SBOM (CycloneDX JSON).

    python scripts/inventory.py notice            # writes NOTICE
    python scripts/inventory.py sbom sbom.json    # writes the bill of materials of this machine

Both are made from the metadata of the installed packages. NOTICE names no versions, so that it is
the same on every machine; the SBOM does.
"""

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any
from uuid import uuid4

ROOT = Path(__file__).resolve().parents[1]
REQUIREMENTS = ROOT / "requirements" / "base.txt"
NPM_LOCK = ROOT / "runtime" / "package-lock.json"
# What build.mjs copies into the package; all else of npm is only used to build.
NPM_PACKAGES = ("@tailwindcss/browser", "lottie-web")
STUDIO_LOCK = ROOT / "studio" / "package-lock.json"
MODELS = ("Whisper", "Moonshine", "Silero VAD")
PROGRAMS = {
    "chromium": ("chromium-headless-shell", "chrome-headless-shell"),
    "ffmpeg": ("ffmpeg",),
    "postgresql": ("postgres", "psql"),
    "bubblewrap": ("bwrap",),
}

# Shared libraries inside wheels, and their licences. A test fails when a wheel brings another.
GPL = "GPL-2.0-or-later"
FFMPEG = "GPL-2.0-or-later in av, LGPL-2.1-or-later in opencv-python-headless"
LIBRARIES = {
    "SvtAv1Enc": "BSD-3-Clause-Clear",
    "X11": "MIT",
    "Xau": "MIT",
    "Xdmcp": "MIT",
    "Xext": "MIT",
    "Xv": "MIT",
    "aom": "BSD-2-Clause",
    "asound": "LGPL-2.1-or-later",
    "avcodec": FFMPEG,
    "avdevice": FFMPEG,
    "avfilter": FFMPEG,
    "avformat": FFMPEG,
    "avif": "BSD-2-Clause",
    "avutil": FFMPEG,
    "brotlicommon": "MIT",
    "brotlidec": "MIT",
    "bz2": "bzip2-1.0.6",
    "com_err": "MIT",
    "crypt": "LGPL-2.1-or-later",
    "crypto": "Apache-2.0 (OpenSSL 3), OpenSSL (1.1.1)",
    "dav1d": "BSD-2-Clause",
    "drm": "MIT",
    "freetype": "FTL",
    "gcc_s": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "gfortran": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "gmp": "LGPL-3.0-or-later OR GPL-2.0-or-later",
    "gnutls": "LGPL-2.1-or-later",
    "gssapi_krb5": "MIT",
    "harfbuzz": "MIT",
    "hogweed": "LGPL-3.0-or-later OR GPL-2.0-or-later",
    "jpeg": "IJG AND BSD-3-Clause",
    "k5crypto": "MIT",
    "keyutils": "LGPL-2.1-or-later",
    "krb5": "MIT",
    "krb5support": "MIT",
    "lber": "OLDAP-2.8",
    "lcms2": "MIT",
    "ldap": "OLDAP-2.8",
    "lzma": "0BSD",
    "mp3lame": "LGPL-2.0-or-later",
    "nettle": "LGPL-3.0-or-later OR GPL-2.0-or-later",
    "openblasp": "BSD-3-Clause",
    "opencore-amrnb": "Apache-2.0",
    "opencore-amrwb": "Apache-2.0",
    "openjp2": "BSD-2-Clause",
    "opus": "BSD-3-Clause",
    "pcre": "BSD-3-Clause",
    "pcre2-8": "BSD-3-Clause",
    "png16": "libpng-2.0",
    "pq": "PostgreSQL",
    "quadmath": "LGPL-2.1-or-later",
    "sasl2": "BSD-4-Clause-UC",
    "scipy_openblas64_": "BSD-3-Clause",
    "selinux": "LicenseRef-Public-Domain",
    "sharpyuv": "BSD-3-Clause",
    "ssl": "Apache-2.0 (OpenSSL 3), OpenSSL (1.1.1)",
    "swresample": FFMPEG,
    "swscale": FFMPEG,
    "tiff": "libtiff",
    "unistring": "LGPL-3.0-or-later OR GPL-2.0-or-later",
    "vmaf": "BSD-2-Clause-Patent",
    "vpl": "MIT",
    "vpx": "BSD-3-Clause",
    "webp": "BSD-3-Clause",
    "webpdemux": "BSD-3-Clause",
    "webpmux": "BSD-3-Clause",
    "x264": GPL,
    "x265": GPL,
    "xcb": "MIT",
    "xcb-shape": "MIT",
    "xcb-shm": "MIT",
    "xcb-xfixes": "MIT",
    "z": "Zlib",
    "zstd": "BSD-3-Clause",
}
NOTICE_HEAD = """\
Framekiln
Copyright the Framekiln authors. Licensed under the Apache License, Version 2.0: see LICENSE.

This file is written by scripts/inventory.py. It names everything that an installation brings along,
with its licence. The full texts are in the packages themselves (*.dist-info, *.libs) and, for
Debian packages, in /usr/share/doc.


Before you pass an installation on
----------------------------------

Framekiln's own wheel contains only Framekiln and the scripts under "In the pages and in the
studio". An installation, an image or an appliance contains the rest as well, and whoever passes it
on has duties:

- The wheel of PyAV (av) contains FFmpeg built with its GPL parts, x264 and x265. Whoever
  distributes it, for example inside a container image, distributes software under the GNU General
  Public License, version 3 or later for the combination: include the licence text, and offer the
  complete corresponding source of these libraries, including the scripts that built them. The
  Debian package of FFmpeg is built the same way.
- psycopg, glibc's and GNU's libraries are under the LGPL: their users must be able to replace them.
- H.264, HEVC and AAC are covered by patents in some countries. A licence for the software is no
  licence for the patents.
- To run Framekiln as a service for others is no distribution; none of this applies then.

To avoid the GPL, build PyAV from source on an FFmpeg without --enable-gpl. Framekiln encodes H.264
with x264, so films in MP4 and MOV then need another encoder, which is not supported today.
"""


@dataclass(frozen=True)
class Part:
    """A package or program and its licence."""

    name: str
    version: str
    licence: str
    purl: str


def python_parts() -> list[Part]:
    """Return the installed Python packages that the service needs."""
    found = []
    for name in required_names():
        try:
            described = metadata.metadata(name)
        except metadata.PackageNotFoundError:
            # Not needed on this system or this version of Python.
            continue
        version = described["Version"]
        purl = f"pkg:pypi/{name}@{version}"
        found.append(Part(name, version, _licence_of(described), purl))
    return found


def required_names() -> list[str]:
    """Return the names in the locked requirements."""
    text = REQUIREMENTS.read_text("utf-8")
    return sorted(set(re.findall(r"^([A-Za-z0-9_.-]+)==", text, re.MULTILINE)))


def npm_parts() -> list[Part]:
    """Return the npm packages whose scripts are in ours: in pages of callers and in the studio."""
    packages = json.loads(NPM_LOCK.read_text("utf-8"))["packages"]
    found = [_npm_part(name, packages[f"node_modules/{name}"]) for name in NPM_PACKAGES]
    studio = json.loads(STUDIO_LOCK.read_text("utf-8"))["packages"]
    # All that is not for the build alone may be bundled.
    found += [
        _npm_part(path.removeprefix("node_modules/"), entry)
        for path, entry in sorted(studio.items())
        if path and not entry.get("dev")
    ]
    return found


def _npm_part(name: str, entry: dict[str, Any]) -> Part:
    purl = f"pkg:npm/{name.replace('@', '%40')}@{entry['version']}"
    return Part(name, entry["version"], entry["license"], purl)


def bundled_libraries() -> dict[str, set[str]]:
    """Return the shared libraries inside each installed wheel, by package."""
    site = Path(str(metadata.distribution("numpy").locate_file("")))
    found: dict[str, set[str]] = {}
    for folder in sorted(site.glob("*.libs")):
        names = {library_name(file.name) for file in folder.iterdir() if ".so" in file.name}
        found[folder.name.removesuffix(".libs")] = names
    return found


def library_name(file_name: str) -> str:
    """Return `x264` for libx264-fd5179c6.so.165: without what the repair of a wheel adds."""
    stem = file_name.removeprefix("lib").split(".so")[0]
    return re.sub(r"(-r0)?(-[0-9a-f]{8})+(\.[0-9.]+)?$", "", stem)


def write_notice() -> str:
    """Return the text of NOTICE."""
    lines = [NOTICE_HEAD, "", "Python packages", "---------------", ""]
    lines += [f"{part.name}: {part.licence}" for part in python_parts()]
    lines += ["", "", "Libraries inside their wheels, on one system or another", "-" * 55, ""]
    lines += [f"{name}: {licence}" for name, licence in LIBRARIES.items()]
    lines += ["", "", "In the pages and in the studio", "-" * 30, ""]
    lines += [f"{part.name}: {part.licence}" for part in npm_parts()]
    lines += ["", "", "Speech models, if they are installed", "-" * 36, ""]
    lines += [f"{name}: MIT" for name in MODELS]
    lines += ["", "", "Debian packages that make setup installs", "-" * 40, ""]
    lines += [
        "Chromium, FFmpeg, PostgreSQL, bubblewrap, fonts: see /usr/share/doc/*/copyright.",
        "",
    ]
    return "\n".join(lines)


def make_sbom() -> dict[str, Any]:
    """Return the bill of materials of this installation, in CycloneDX 1.6."""
    parts = [*python_parts(), *npm_parts(), *_programs()]
    components: list[dict[str, Any]] = [
        {
            "type": "application" if part.purl.startswith("pkg:generic") else "library",
            "bom-ref": part.purl,
            "name": part.name,
            "version": part.version,
            "purl": part.purl,
            "licenses": [{"license": {"name": part.licence}}],
        }
        for part in parts
    ]
    components += [
        {
            "type": "library",
            "bom-ref": f"{package}/{name}",
            "name": name,
            "licenses": [{"license": {"name": LIBRARIES.get(name, "unknown")}}],
            "properties": [{"name": "framekiln:bundled-in", "value": package}],
        }
        for package, names in bundled_libraries().items()
        for name in sorted(names)
    ]
    version = metadata.version("framekiln")
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid4()}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
            "component": {
                "type": "application",
                "bom-ref": f"pkg:pypi/framekiln@{version}",
                "name": "framekiln",
                "version": version,
                "purl": f"pkg:pypi/framekiln@{version}",
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            },
        },
        "components": components,
    }


def _programs() -> list[Part]:
    found = []
    for name, commands in PROGRAMS.items():
        version = next(filter(None, map(_version_of, commands)), None)
        if version is not None:
            purl = f"pkg:generic/{name}@{version}"
            found.append(Part(name, version, "see /usr/share/doc", purl))
    import av  # noqa: PLC0415 - slow, and only needed here

    inside = getattr(av, "ffmpeg_version_info", "unknown")
    found.append(Part("ffmpeg (in av)", inside, GPL, f"pkg:generic/ffmpeg-in-av@{inside}"))
    return found


def _version_of(command: str) -> str | None:
    flag = "-version" if command == "ffmpeg" else "--version"
    try:
        done = subprocess.run(
            [command, flag], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    number = re.search(r"\d+(\.\d+)+\S*", done.stdout)
    return number[0] if number else None


def _licence_of(described: metadata.PackageMetadata) -> str:
    expressions = described.get_all("License-Expression")
    if expressions:
        return str(expressions[0])
    # An older field that may also have the whole text.
    short = str((described.get_all("License") or [""])[0]).strip()
    if short and len(short) < 60 and "\n" not in short:
        return short
    kinds = [
        line.split("::")[-1].strip()
        for line in described.get_all("Classifier") or []
        if line.startswith("License ::")
    ]
    return ", ".join(sorted(kinds)) or "unknown"


def main(words: list[str]) -> int:
    """Write what the command line asks for."""
    match words:
        case ["notice"]:
            (ROOT / "NOTICE").write_text(write_notice(), "utf-8")
        case ["sbom", path]:
            Path(path).write_text(json.dumps(make_sbom(), indent=2) + "\n", "utf-8")
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
