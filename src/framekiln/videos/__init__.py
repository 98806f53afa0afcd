"""Videos and templates of v2: layer configs that renders turn into films."""
