"""The pages of the studio, built from `studio/`: the dashboard and the preview."""
