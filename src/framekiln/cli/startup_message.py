"""The startup message of `framekiln serve`: URL, first key and login, an example render."""

import json
import shlex
from dataclasses import dataclass
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


@dataclass(frozen=True)
class StartupMessage:
    """The values of the startup message."""

    settings: Settings
    issued_key: str | None
    pid: int
    issued_user: IssuedUser | None = None

    def as_text(self) -> str:
        """Return the message for people."""
        url = self.settings.public_url
        lines = ["", f"Framekiln is ready at {url}", *self._key_lines()]
        lines += self._user_lines()
        lines += [f"Data: {self.settings.data}", "", "Make out.mp4 from a small page:", ""]
        lines += [example_render_command(url, key=self._key_in_command()), "", "Ctrl-C stops it."]
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        """Return the message for programs."""
        url = self.settings.public_url
        return {
            "url": url,
            "api_key": self.issued_key,
            "email": self.issued_user.user.email if self.issued_user else None,
            "password": self.issued_user.password if self.issued_user else None,
            "data": str(self.settings.data),
            "pid": self.pid,
            "curl": example_render_command(url, key=self._key_in_command()),
        }

    def _key_lines(self) -> list[str]:
        if self.issued_key:
            return [f"API key: {self.issued_key}", "(shown this once; keep it)"]
        if self.settings.api_key:
            return ["API key: the one in FRAMEKILN_API_KEY"]
        return [
            "API key: the one shown at the first start; another: framekiln keys create",
            "(put it into FRAMEKILN_API_KEY for the command below)",
        ]

    def _user_lines(self) -> list[str]:
        if self.issued_user is None:
            return []
        email, password = self.issued_user.user.email, self.issued_user.password
        return [f"Login: {email}", f"Password: {password}", "(shown this once; keep it)"]

    def _key_in_command(self) -> str:
        return self.issued_key or "$FRAMEKILN_API_KEY"


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
