"""Writes the pictures of the examples gallery and its page, examples/README.md.

`make examples` calls it; with names it makes only their pictures:
`python scripts/make_examples.py title story`. Look at every picture that it changes.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support.examples import EXAMPLES, FOLDER, QUALITY, gallery, render_picture

from framekiln.capture.browser import open_browser


def main(names: list[str]) -> int:
    """Render what is named, or everything."""
    unknown = sorted(set(names) - {example.name for example in EXAMPLES})
    if unknown:
        print(f"there is no example {', '.join(unknown)}", file=sys.stderr)
        return 2
    with open_browser() as browser:
        for example in EXAMPLES:
            if names and example.name not in names:
                continue
            picture, film = render_picture(example, browser)
            for warning in film.record.warnings:
                print(f"{example.file}: warning: {warning}", file=sys.stderr)
            picture.save(example.picture_path, quality=QUALITY, method=6)
            print(example.picture_path.relative_to(FOLDER.parent))
    (FOLDER / "README.md").write_text(gallery(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
