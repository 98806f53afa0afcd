"""Events told to other people's servers: at least once, in order, and without waiting for them."""
