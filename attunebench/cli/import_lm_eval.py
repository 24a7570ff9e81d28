"""`attune-bench import-lm-eval`: logged samples of lm-evaluation-harness in, result files out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attunebench.cli.import_inspect import taken, tell
from attunebench.cli.options import flag


def import_lm_eval(
    samples: Annotated[
        list[Path], typer.Argument(metavar="SAMPLES", help="Logs (samples_attunebench….jsonl), or folders of them.")
    ],
    output: Annotated[Path, flag("Folder of the result files.", "-o", "--output")] = Path("results"),
) -> None:
    """Write result files from logs of `lm_eval --log_samples`. Calls no model.

    Existing results are never replaced.
    """
    from attunebench.harness.importing import Importing, log_files, read_lm_eval_log

    files = log_files(samples, ("samples_attunebench*.jsonl",), "lm_eval writes one of samples with --log_samples")
    sources = [read_lm_eval_log(path) for path, _ in files]
    importing = Importing(output)
    refused = sum(not taken(importing, source, alone=len(sources) == 1) for source in sources)
    tell(importing.close(), output)
    if refused:
        raise typer.Exit(1)
