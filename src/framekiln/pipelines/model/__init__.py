"""The nouns of pipelines, as they are stored."""
