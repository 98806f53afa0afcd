"""Pure: what a composition says, before any browser has seen it."""
