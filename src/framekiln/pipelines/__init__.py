"""Pipelines: a versioned graph of steps, run over video files.

The core is pure: it knows no database, no HTTP and no clock. `validation` reads what a caller
sends, `normal_form` says what is stored, `scheduling` decides what happens next.
"""
