"""The startup message of `framekiln serve`: URL, first key and login, an example render.

The first key and password are shown in a terminal only. Otherwise standard output may be a journal
or a log that others can read, so they are put into files that only their owner can read.
"""

import json
import os
import shlex
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from framekiln.identity.model import IssuedUser
from framekiln.settings import Settings

# Without single quotes, because it is quoted with them in a shell command.
EXAMPLE_PAGE: Final = (
    "<style>body{margin:0;background:#10141f}div{width:120px;height:120px;background:#ff7a18;"
    "border-radius:24px;animation:move 2s linear}"
    "@keyframes move{to{transform:translate(520px,240px) rotate(360deg)}}</style><div></div>"
)
EXAMPLE_RENDER: Final = {
    "html": EXAMPLE_PAGE,
    "width": 640,
    "height": 360,
    "fps": 30,
    "duration_ms": 2000,
}


LOGIN_LINK_LIFETIME: Final = timedelta(hours=1)


@dataclass(frozen=True)
class StartupMessage:
    """The values of the startup message; with `shows_secrets` it contains them."""

    settings: Settings
    issued_key: str | None
    pid: int
    issued_user: IssuedUser | None = None
    login_code: str | None = None
    """Logs the first user in once."""
    shows_secrets: bool = True

    @property
    def key_file(self) -> Path:
        """Where the first key is kept if it is not shown."""
        return self.settings.data / "first-key"

    @property
    def password_file(self) -> Path:
        """Where the first password is kept if it is not shown."""
        return self.settings.data / "first-password"

    def keep_secrets(self) -> None:
        """Write what is not shown to its files."""
        if self.shows_secrets:
            return
        if self.issued_key:
            _write_secret(self.key_file, self.issued_key)
        if self.issued_user:
            _write_secret(self.password_file, self.issued_user.password)

    def as_text(self) -> str:
        """Return the message for people."""
        url = self.settings.public_url
        lines = ["", f"Framekiln is ready at {url}", *self._key_lines()]
        lines += self._user_lines()
        lines += self._studio_lines()
        lines += [f"Data: {self.settings.data}", "", "Make out.mp4 from a small page:", ""]
        lines += [example_render_command(url, key=self._key_in_command()), "", "Ctrl-C stops it."]
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        """Return the message for programs."""
        url, user = self.settings.public_url, self.issued_user
        is_hidden = not self.shows_secrets
        return {
            "url": url,
            "api_key": self.issued_key if self.shows_secrets else None,
            "api_key_file": str(self.key_file) if self.issued_key and is_hidden else None,
            "email": user.user.email if user else None,
            "password": user.password if user and self.shows_secrets else None,
            "password_file": str(self.password_file) if user and is_hidden else None,
            "login_url": self._login_url(),
            "data": str(self.settings.data),
            "pid": self.pid,
            "curl": example_render_command(url, key=self._key_in_command()),
        }

    def _key_lines(self) -> list[str]:
        if self.issued_key and self.shows_secrets:
            return [f"API key: {self.issued_key}", "(shown this once; keep it)"]
        if self.issued_key:
            return [f"API key: in {self.key_file}", "(store it elsewhere, then delete the file)"]
        if self.settings.api_key:
            return ["API key: the one in FRAMEKILN_API_KEY"]
        return [
            "API key: the one of the first start; another: framekiln keys create",
            "(put it into FRAMEKILN_API_KEY for the command below)",
        ]

    def _user_lines(self) -> list[str]:
        if self.issued_user is None:
            return []
        login = f"Login: {self.issued_user.user.email}"
        if not self.shows_secrets:
            return [login, f"Password: in {self.password_file}"]
        return [login, f"Password: {self.issued_user.password}", "(shown this once; keep it)"]

    def _studio_lines(self) -> list[str]:
        found = self._login_url()
        if found is None:
            return ["Studio: framekiln users login-link prints a link to log in"]
        return [f"Studio: {found}", "(logs you in once, within an hour)"]

    def _login_url(self) -> str | None:
        if self.login_code is None or not self.shows_secrets:
            return None
        return login_url(self.settings, self.login_code)

    def _key_in_command(self) -> str:
        if self.issued_key and not self.shows_secrets:
            return f"$(cat {shlex.quote(str(self.key_file))})"
        return self.issued_key or "$FRAMEKILN_API_KEY"


def login_url(settings: Settings, code: str) -> str:
    """Return a link that logs in once; browsers do not send what is behind `#`."""
    return f"{settings.public_url}/studio/login#code={code}"


def _write_secret(path: Path, text: str) -> None:
    # A file of an earlier database: its mode and owner may be anything.
    path.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, 0o600), "w") as file:
        file.write(text + "\n")


def example_render_command(url: str, *, key: str) -> str:
    """Return a shell command that renders a page, follows its progress, and writes out.mp4."""
    authorization = f'-H "Authorization: Bearer {key}"'
    renders = shlex.quote(f"{url}/api/v1/renders")
    body = shlex.quote(json.dumps(EXAMPLE_RENDER, separators=(",", ":")))
    create = (
        f"curl -fsS {renders} {authorization} -H 'Content-Type: application/json' -d {body}"
        """ | grep -o '"id" *: *"[^"]*"' | cut -d'"' -f4"""
    )
    follow = f"curl -fsSN {authorization} {renders}/$id/progress"
    download = f"curl -fsS {authorization} -o out.mp4 {renders}/$id.mp4"
    return f"{create} | {{ read -r id && {follow} && {download} && ls -l out.mp4; }}"
