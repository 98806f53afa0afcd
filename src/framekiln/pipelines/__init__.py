"""Pipelines: a versioned graph of steps, run over video files.

The core is pure (`schema`, `definition`, `outputs`, `scheduling`): no database, no HTTP, no
clock. `model` has the stored nouns, `stores` their SQL. `execution` advances runs, `runners` do
the built-in steps, `services` is what callers use, `endpoints` sends steps to their servers.
"""
