"""Names that nobody can see."""

NOT_BLANK = "must have at least one visible character"


def is_blank(text: str) -> bool:
    """Return whether a text has white space and invisible characters only, or nothing."""
    return not any(char.isprintable() and not char.isspace() for char in text)
