"""Videos and templates of v2: layer configs that become films through renders."""
