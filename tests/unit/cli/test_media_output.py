"""What commands about media show."""

import pytest

from framekiln.cli.media_output import show_one
from framekiln.client.model import RemoteBulk

BULK = {
    "id": "Bq7Lr2Xw0e",
    "status": "running",
    "template_id": "Wm2x81LpTc",
    "row_count": 2,
    "counts": {"waiting": 2},
    "progress": 0,
}


def test_a_warning_about_rows_names_the_first_one(capsys: pytest.CaptureFixture[str]) -> None:
    found = {"row": 2, "path": "data.nick", "code": "unknown_field", "message": "has no effect"}
    show_one(RemoteBulk.of({**BULK, "warnings": [found]}), "made", as_json=False)
    assert capsys.readouterr().err == "warning: row 2: data.nick: has no effect\n"
