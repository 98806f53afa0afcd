"""The SQL of pipelines, a store for each noun. Whoever changes a run holds its row."""
