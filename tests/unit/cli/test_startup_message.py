"""What a start prints."""

import json
import shlex
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

from framekiln.cli.startup_message import EXAMPLE_RENDER, StartupMessage, example_render_command
from framekiln.identity.model import IssuedUser, User
from framekiln.kit.ids import UserId
from framekiln.settings import Settings

KEY = "ef_secret_id"
USER = IssuedUser(
    User(UserId(UUID(int=1)), "admin@localhost", datetime(2030, 1, 1, tzinfo=UTC)), "made-up"
)


def settings(**given: object) -> Settings:
    return Settings.model_validate({"data": Path("/data"), "port": 9000, **given})


def test_first_start_shows_the_key_once_in_words_and_in_the_command() -> None:
    text = StartupMessage(settings(), issued_key=KEY, pid=1).as_text()
    assert f"API key: {KEY}\n" in text
    assert "http://127.0.0.1:9000\n" in text
    assert f"Bearer {KEY}" in text


def test_later_start_says_how_to_get_another_key() -> None:
    text = StartupMessage(settings(), issued_key=None, pid=1).as_text()
    assert "framekiln keys create" in text
    assert "Bearer $FRAMEKILN_API_KEY" in text


def test_key_from_the_settings_is_never_printed() -> None:
    given = settings(api_key="ef_operators_own")
    greeting = StartupMessage(given, issued_key=None, pid=1)
    assert "ef_operators_own" not in greeting.as_text()
    assert "ef_operators_own" not in json.dumps(greeting.as_json())
    assert "Bearer $FRAMEKILN_API_KEY" in greeting.as_text()


def test_json_has_the_same_facts() -> None:
    fields = StartupMessage(
        settings(base_url="https://video.example/"), issued_key=KEY, pid=7
    ).as_json()
    assert fields["url"] == "https://video.example"
    assert fields["api_key"] == KEY
    assert fields["pid"] == 7
    assert "https://video.example/api/v1/renders" in fields["curl"]


def test_the_command_is_one_correctly_quoted_line() -> None:
    command = example_render_command("http://127.0.0.1:8080", key=KEY)
    assert "\n" not in command
    words = shlex.split(command)
    assert words[0] == "curl"
    assert json.loads(words[words.index("-d") + 1]) == EXAMPLE_RENDER
    assert words.count(f"Authorization: Bearer {KEY}") == 3
    assert words[words.index("-o", words.index("read")) + 1] == "out.mp4"


def test_first_user_is_shown_with_the_password() -> None:
    greeting = StartupMessage(settings(), issued_key=KEY, pid=1, issued_user=USER)
    assert "Login: admin@localhost\nPassword: made-up\n" in greeting.as_text()
    fields = greeting.as_json()
    assert (fields["email"], fields["password"]) == ("admin@localhost", "made-up")


def test_the_link_to_log_in_is_shown_in_a_terminal_only() -> None:
    link = f"{settings().public_url}/studio/login#code=made-up-code"
    shown = StartupMessage(settings(), issued_key=KEY, pid=1, login_code="made-up-code")
    assert f"Studio: {link}" in shown.as_text()
    assert shown.as_json()["login_url"] == link
    hidden = replace(shown, shows_secrets=False)
    assert "made-up-code" not in hidden.as_text()
    assert "framekiln users login-link" in hidden.as_text()
    assert hidden.as_json()["login_url"] is None


def test_later_start_shows_no_password() -> None:
    greeting = StartupMessage(settings(), issued_key=None, pid=1)
    assert "Password" not in greeting.as_text()
    assert greeting.as_json()["password"] is None


def test_in_a_journal_the_secrets_are_only_in_files_of_their_owner(tmp_path: Path) -> None:
    (tmp_path / "first-key").write_text("of an earlier database")
    (tmp_path / "first-key").chmod(0o644)
    message = StartupMessage(
        settings(data=tmp_path), issued_key=KEY, pid=1, issued_user=USER, shows_secrets=False
    )
    message.keep_secrets()
    for text in (message.as_text(), json.dumps(message.as_json())):
        assert KEY not in text
        assert USER.password not in text
        assert str(tmp_path / "first-key") in text
        assert str(tmp_path / "first-password") in text
    for name, secret in (("first-key", KEY), ("first-password", USER.password)):
        file = tmp_path / name
        assert file.read_text() == f"{secret}\n"
        assert file.stat().st_mode & 0o777 == 0o600
    assert f"Bearer $(cat {tmp_path}/first-key)" in message.as_text()


def test_in_a_terminal_no_file_is_written(tmp_path: Path) -> None:
    message = StartupMessage(settings(data=tmp_path), issued_key=KEY, pid=1, issued_user=USER)
    message.keep_secrets()
    assert list(tmp_path.iterdir()) == []
