"""The benchmark as a task of Inspect AI, which asks, retries, caches and logs. Imported by Inspect alone."""
