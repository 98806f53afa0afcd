"""Pipelines: a versioned graph of steps, run over video files.

The core is pure (`schema`, `definition`, `outputs`, `scheduling`): no database, no HTTP, no
clock. `model` has the stored nouns, `stores` their SQL. `execution` advances runs, `steps` has a
module for each type of step, `endpoints` sends work to callers' servers, `services` is what callers
use.
"""
