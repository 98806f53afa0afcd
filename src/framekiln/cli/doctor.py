"""`framekiln doctor`: checks what this machine has and lacks, and names the commands that help."""

import asyncio
from dataclasses import asdict

import typer

from framekiln.cli.doctor_accounts import check_rights
from framekiln.cli.doctor_checks import CheckResult, CheckState, check_machine, check_settings
from framekiln.cli.environment import load_settings
from framekiln.cli.output import JsonFlag, write_json, write_line
from framekiln.settings import Settings

_MARKS = {CheckState.OK: "ok     ", CheckState.WARN: "warn   ", CheckState.MISSING: "missing"}


def doctor(as_json: JsonFlag = False) -> None:
    """Check programs, fonts, sandbox, data folder, port and database."""
    settings = load_settings()
    findings = [*check_machine(settings), *asyncio.run(_check(settings))]
    works = all(finding.state is not CheckState.MISSING for finding in findings)
    if as_json:
        write_json({"ok": works, "checks": [asdict(finding) for finding in findings]})
    else:
        for finding in findings:
            write_line(_describe(finding))
    if not works:
        raise typer.Exit(1)


async def _check(settings: Settings) -> list[CheckResult]:
    return [*await check_settings(settings), *await check_rights(settings)]


def _describe(finding: CheckResult) -> str:
    line = f"{_MARKS[finding.state]}  {finding.name}: {finding.detail}"
    if finding.fix:
        return f"{line}\n         fix: {finding.fix}"
    return line
