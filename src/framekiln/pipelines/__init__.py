"""Pipelines: a versioned graph of steps, run over video files.

The core is pure (`forms`, `definitions`, `outputs`, `states`): it knows no database, no HTTP, no
clock. `model` has what is stored, `tables` the SQL. `running` brings runs on, with `runners` for
the built-in steps; `owners` is what people ask for, `sending` talks to their endpoints.
"""
