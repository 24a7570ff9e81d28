"""The benchmark as tasks of lm-evaluation-harness: that framework asks, and this package plans, reads and scores.

The tasks are YAML files in a folder that `lm_eval --include_path` takes. Only `task` imports the framework.
"""
