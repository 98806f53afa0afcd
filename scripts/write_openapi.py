"""Writes the OpenAPI document of this version: `python scripts/write_openapi.py openapi.json`."""

import json
import sys
from pathlib import Path
from typing import cast

from framekiln.api.app import create_app
from framekiln.services import Services


def main() -> None:
    """Write the document; no service is needed to describe the routes."""
    document = create_app(cast(Services, None)).openapi()
    Path(sys.argv[1]).write_text(json.dumps(document, indent=1), "utf-8")


if __name__ == "__main__":
    main()
