"""What is measured: one file per family of metrics, plain data in and a value out, and the registry of their cards."""
