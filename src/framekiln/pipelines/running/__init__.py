"""Brings runs on: everything that happens to a run happens while somebody holds it."""
