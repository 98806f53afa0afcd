"""The sound of a film: samples at their exact places, and what is read off them."""
