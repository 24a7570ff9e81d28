"""`python -m attunebench.harness.lm_eval` prints the folder that `lm_eval --include_path` takes."""

from pathlib import Path

TASKS = Path(__file__).resolve().parent / "tasks"

if __name__ == "__main__":
    print(TASKS)
