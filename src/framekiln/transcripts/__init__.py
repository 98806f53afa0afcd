"""What is said in files: transcriptions, made in slices by any number of workers."""
