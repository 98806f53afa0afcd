"""`python -m framekiln`: the same as the `framekiln` command."""

from framekiln.cli import app

app(prog_name="framekiln")
