"""`python -m framekiln`: the same as the `framekiln` command."""

from framekiln.cli.program import app

app(prog_name="framekiln")
