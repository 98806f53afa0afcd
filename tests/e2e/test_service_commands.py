"""Commands beside a running service: on its data folder, and on another one."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from framekiln.cli.doctor_checks import CheckResult, CheckState, check_settings
from framekiln.cli.program import app
from framekiln.settings import Settings
from tests.support.service import Service


async def findings(service: Service, data: Path) -> dict[str, CheckResult]:
    settings = Settings.model_validate({"port": int(service.url.rpartition(":")[2]), "data": data})
    return {each.name: each for each in await check_settings(settings)}


async def test_doctor_recognizes_the_running_service(
    shared_service: Service, tmp_path: Path
) -> None:
    address = shared_service.url.removeprefix("http://")
    ours = await findings(shared_service, shared_service.data)
    assert ours["port"] == CheckResult(
        "port", CheckState.OK, f"{address} is in use by this service"
    )
    assert ours["database"] == CheckResult("database", CheckState.OK, "reachable, up to date")
    other = await findings(shared_service, tmp_path / "other")
    assert other["port"].state is CheckState.OK
    assert other["port"].detail.endswith("in use by a Framekiln service with another data folder")
    assert other["database"].state is CheckState.WARN
    assert other["database"].detail == f"the running service does not use {tmp_path / 'other'}"
    assert not (tmp_path / "other").exists()


@pytest.mark.usefixtures("own_sigterm")
def test_commands_report_a_service_with_another_data_folder(
    shared_service: Service, tmp_path: Path
) -> None:
    other = tmp_path / "other"

    def type_(*words: str) -> Result:
        environment = {
            "FRAMEKILN_DATA": str(other),
            "FRAMEKILN_PORT": shared_service.url.rpartition(":")[2],
            "FRAMEKILN_BASE_URL": shared_service.url,
        }
        return CliRunner().invoke(app, list(words), env=environment)

    result = type_("jobs", "depths")
    assert (result.exit_code, result.stdout) == (1, "")
    elsewhere = f"the service at {shared_service.url} keeps its data elsewhere\n"
    assert result.stderr.endswith(elsewhere)
    result = type_("webhooks", "list")
    assert result.stderr.startswith(
        f"error: FRAMEKILN_API_KEY is not set, and there is no database in {other}: "
    )
    assert not other.exists()
    # It may be made on purpose, but then still is not that of the service.
    assert type_("migrate").exit_code == 0
    result = type_("jobs", "depths")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(
        f"error: the service at {shared_service.url} does not use {other}: set FRAMEKILN_DATA"
    )


@pytest.mark.usefixtures("own_sigterm")
def test_a_login_link_to_another_port_than_that_of_the_service_has_a_warning(
    shared_service: Service,
) -> None:
    port = shared_service.url.rpartition(":")[2]
    for asked, warned in ((port, ""), ("1", "no service answers at http://127.0.0.1:1;")):
        environment = {"FRAMEKILN_DATA": str(shared_service.data), "FRAMEKILN_PORT": asked}
        result = CliRunner().invoke(app, ["users", "login-link"], env=environment)
        assert result.exit_code == 0, result.output
        assert result.stdout.startswith(f"http://127.0.0.1:{asked}/studio/login#code=")
        assert warned in result.stderr
        assert bool(warned) == ("FRAMEKILN_PORT" in result.stderr)
