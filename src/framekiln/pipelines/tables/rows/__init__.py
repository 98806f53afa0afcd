"""What the rows of all nouns have in common."""
