"""Runs a function on strangers' bytes in a child process that can do little and is killed early."""
