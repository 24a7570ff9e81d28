"""`python -m attunebench.harness.lm_eval` prints the folder that `lm_eval --include_path` takes."""

from attunebench.harness.lm_eval import include_path

if __name__ == "__main__":
    print(include_path())
