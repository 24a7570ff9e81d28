"""The benchmark as tasks of lm-evaluation-harness, in YAML files for its --include_path; `task` alone imports it."""
