"""The benchmark as a task of other evaluation frameworks: their engines ask, this package plans, reads and scores."""
