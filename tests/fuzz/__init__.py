"""Random input for everything that reads bytes or text of strangers: see `targets`."""
