"""Run as `python -m`: opens a browser as an ordinary user and prints how it reads frames.

Imports come first: the ordinary user may not be allowed to read the Python installation.
"""

import json
import os
import sys

from framekiln.capture.browser import open_browser
from framekiln.capture.grabber import prepare_grabber
from framekiln.capture.page import FrameSize, open_page
from framekiln.media.images.stills import decode_bgra

ORDINARY_ID = 64999


def main() -> None:
    """Print the method, the reason for it, and the users of Chromium's processes."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(ORDINARY_ID, ORDINARY_ID, ORDINARY_ID)
        os.setresuid(ORDINARY_ID, ORDINARY_ID, ORDINARY_ID)
    with open_browser() as browser, open_page(browser, FrameSize(320, 180)) as page:
        grabber, reason = prepare_grabber(page, decode_bgra, raw=True)
        uids = {status.uid for status in browser.processes.statuses()}
        found = {
            "method": grabber.method,
            "reason": reason,
            "uid": os.geteuid(),
            "uids": sorted(uids),
            "confinement": browser.confinement,
        }
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
