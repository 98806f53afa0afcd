"""The rows of the attempts of endpoint steps."""
