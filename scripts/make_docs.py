"""Writes what the code knows better into the docs: cli.md, metrics.md, analyses.md, parts of python.md,
subset-report.md and README.

python scripts/make_docs.py            write them
python scripts/make_docs.py --check    exit 1 and name what is out of date
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
GROUPS = {
    "turn": "Turn by turn",
    "conversation": "Whole conversation",
    "pillar": "Pillars and Composite",
    "draft": "Drafted replies",
    "diagnostic": "Diagnostics",
    "released": "Released scorer only",
}


def main() -> int:
    check = sys.argv[1:] == ["--check"]
    stale = []
    for path, text in pages().items():
        if normalised(path.read_text("utf-8") if path.exists() else "") == normalised(text):
            continue
        stale.append(path.relative_to(ROOT))
        if not check:
            path.write_text(text, "utf-8")
    for path in stale:
        print(f"{'out of date' if check else 'written'}: {path}")
    return 1 if check and stale else 0


def functions() -> str:
    """The names of the package, each with the first sentence of its docstring."""
    import attunebench

    lines = ["| name | what it does |", "| --- | --- |"]
    for name in attunebench.__all__:
        if name[0] != "_":
            first = " ".join(str(getattr(attunebench, name).__doc__).split("\n\n")[0].split())
            lines.append(f"| `{name}` | {first.partition('. ')[0].rstrip('.')}. |")
    return "\n".join(lines)


def normalised(text: str) -> str:
    """Releases of the parser break the lines of a help text differently; that makes no page out of date."""
    return " ".join(text.split())


def pages() -> dict[Path, str]:
    readme, python = ROOT / "README.md", ROOT / "docs" / "python.md"
    text = readme.read_text("utf-8")
    for name, part in (("demo", demo_excerpt()), ("metrics", short_table())):
        text = with_part(text, name, part)
    return {
        ROOT / "docs" / "cli.md": cli_page(),
        ROOT / "docs" / "metrics.md": metrics_page(),
        ROOT / "docs" / "analyses.md": analyses_page(),
        ROOT / "docs" / "subset-report.md": subset_page(),
        python: with_part(python.read_text("utf-8"), "functions", functions()),
        readme: text,
    }


def cli_page() -> str:
    parts = [
        "# The commands\n\nGenerated from `--help-all` by `scripts/make_docs.py`; edit the help texts, not this page. "
        "`--help` shows fewer options.\n"
    ]
    for words, asked in commands():
        title = " ".join(("attune-bench", *words))
        parts.append(f"## {title}\n\n```text\n{printed(*words, asked).strip()}\n```\n")
    return "\n".join(parts)


def commands() -> Iterator[tuple[tuple[str, ...], str]]:
    """The words of each command, and the option that shows its help."""

    def below(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
        names = command.list_commands(None) if hasattr(command, "list_commands") else ()
        yield words, "--help" if names else "--help-all"
        for name in names:
            yield from below(command.get_command(None, name), (*words, name))

    yield from below(parser(), ())


@cache
def parser() -> Any:
    """Made once: there are as many pages of help as commands."""
    from typer.main import get_command

    from attunebench.cli.main import app

    return get_command(app)


def printed(*words: str) -> str:
    """What a command prints on a terminal of 80 columns."""
    os.environ.update(COLUMNS="80", TERMINAL_WIDTH="80", NO_COLOR="1")
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.suppress(SystemExit):
        parser()(args=list(words), prog_name="attune-bench")
    return "\n".join(line.rstrip() for line in output.getvalue().splitlines())


def metrics_page() -> str:
    from attunebench.metrics.registry import REGISTRY
    from attunebench.reports.explain import SYMBOLS

    parts = [
        "# The metrics\n",
        "Generated from the registry by `scripts/make_docs.py`; `attune-bench report --explain METRIC` shows one "
        "metric.\n",
        "*Canonical* metrics enter the Composite, *alongside* metrics are reported beside it, and *diagnostic* metrics "
        "are shown with `--all`; *released* metrics exist only in scores by the [released rules](released-rules.md). "
        "Definitions follow our rules. "
        f"In definitions {SYMBOLS} “OM” is the original model, the one that the person talked with; “HP” is the person "
        "(human participant).\n",
    ]
    for group, title in GROUPS.items():
        cards = [card for card in REGISTRY.values() if card.group == group]
        parts.append(f"## {title}\n" if cards else "")
        for card in cards:
            better = {True: "higher is better", False: "lower is better", None: "neither end is better"}
            chance = f", chance {card.chance:g}" if card.chance is not None else ""
            parts.append(
                f"### `{card.id}`\n\n**{card.label}** ({card.status}). {card.meaning}\n\n"
                f"- *Range:* {card.low:g} to {card.high:g} ({card.unit}), {better[card.higher_is_better]}{chance}.\n"
                f"- *Definition:* {card.definition}\n- *Source:* {card.source}.\n"
            )
    return "\n".join(part for part in parts if part)


def analyses_page() -> str:
    from attunebench.analyses import ANALYSES

    parts = [
        "# The analyses\n",
        "Generated from the catalogue by `scripts/make_docs.py`. `attune-bench analyze NAME -s scores.json` runs one "
        "analysis, `analyze all` summarises what each found, and the HTML report contains all of them. Each states "
        "what it shows, with n and intervals, and what it cannot show. Results from too few conversations or a single "
        "participant are flagged. [How models are compared](statistics.md) explains units, intervals, corrections and "
        "detectable effects.\n",
        "Published figures come from the study's 200 conversations and eleven models. They are for orientation; other "
        "conversations give other numbers.\n",
    ]
    for entry in ANALYSES.values():
        parts.append(f"## `{entry.name}`\n\n**{entry.title}.** {entry.question}\n\n{entry.rule}\n")
        if entry.published:
            parts.append(f"*Published:* {entry.published}\n")
    return "\n".join(parts)


def subset_page() -> str:
    """The page with its tables of options and fields, its metrics and its examples made anew."""
    text = (ROOT / "docs" / "subset-report.md").read_text("utf-8")
    parts = {"filters": filter_table, "fields": field_table, "shown": shown_metrics, "examples": subset_examples}
    for name, part in parts.items():
        text = with_part(text, name, part())
    return text


def filter_table() -> str:
    from attunebench.cli.filtering import filter_rows

    rows = ["| options | select by | short for |", "| --- | --- | --- |"]
    return "\n".join(
        [*rows, *(f"| `{cell(usage)}` | {cell(what)} | `{where}` |" for usage, what, where in filter_rows())]
    )


def field_table() -> str:
    from attunebench.conversations import demo_folder, load_conversations
    from attunebench.scorer.truth import truth_entry
    from attunebench.selection import fields_of

    demo = load_conversations(demo_folder()).conversations
    rows = ["| field | what it is |", "| --- | --- |"]
    rows += [f"| `{field.name}` | {cell(field.meaning)} |" for field in fields_of(map(truth_entry, demo)).listed]
    return "\n".join(rows)


def shown_metrics() -> str:
    from attunebench.metrics.registry import REGISTRY
    from attunebench.selection.report import FAMILIES

    rows = ["| table | metrics |", "| --- | --- |"]
    for family in FAMILIES:
        names = (f"{REGISTRY[metric_id].label} (`{metric_id}`)" for metric_id in family.metrics)
        rows.append(f"| {family.title} | {', '.join(names)} |")
    return "\n".join(rows)


def subset_examples() -> str:
    """Two commands with what they print."""
    from attunebench.demo import run_demo
    from attunebench.scores import write_scores

    commands = (
        "--who5-below 13 --metric composite",
        "--diagnosis ADHD --models lexicon,random --metric pairwise_accuracy --compare",
    )
    parts = []
    with tempfile.TemporaryDirectory() as folder:
        scores = Path(folder, "scores.json")
        write_scores(scores, run_demo(Path(folder)))
        for words in commands:
            shown = printed("subset-report", "-s", str(scores), *words.split())
            asked = f"attune-bench subset-report -s attunebench-demo/scores.json {words}"
            parts.append(f"```bash\n{asked}\n```\n\n```text\n{shown.strip()}\n```")
    return "\n\n".join(parts)


def short_table() -> str:
    from attunebench.metrics.registry import REGISTRY

    cards = [card for card in REGISTRY.values() if card.status == "canonical" or card.group == "pillar"]
    rows = ["| metric | what it says | range |", "| --- | --- | --- |"]
    rows += [f"| `{card.id}` | {cell(card.meaning)} | {card.low:g} to {card.high:g} |" for card in cards]
    return "\n".join(rows)


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def demo_excerpt() -> str:
    """What the demonstration prints on a screen of 100 columns."""
    from attunebench.demo import demo_analysis, run_demo
    from attunebench.reports import analyses

    with tempfile.TemporaryDirectory() as folder:
        shown = analyses.render([demo_analysis(run_demo(Path(folder)), Path(folder))], width=100)
    return f"```text\n{shown.strip()}\n```"


def with_part(page: str, name: str, part: str) -> str:
    """The page with what stands between the two marks of that name replaced."""
    begin, end = f"<!-- {name}: written by scripts/make_docs.py -->", f"<!-- end of {name} -->"
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise SystemExit(f"A page lacks the lines {begin} and {end}")
    return f"{before}{begin}\n\n{part}\n\n{end}{after}"


if __name__ == "__main__":
    sys.exit(main())
