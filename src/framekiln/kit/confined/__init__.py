"""Runs a function on untrusted bytes in a restricted child process with strict limits."""
