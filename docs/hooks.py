"""Fills the site with what the code itself knows, and with what commands really print.

A block ```console runs in a scratch folder, in which `trace.pcap` lies, and shows its output; a
block ```python of the same page runs there, too. A command that fails stops the build.
"""

from __future__ import annotations

import inspect
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

import flowsweep
from flowsweep import dictionary
from flowsweep.cli import COMMANDS

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
TRACE = ROOT / "tests/data/m-lab-packet-headers/large-ndt.pcap"
#: The pages whose blocks run.
RUN = ("captures.md",)
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WIDTH = 80
TABLES_ARE = """\
# Tables

What `flowsweep parse` and the workflow write as Parquet, in folders
`tables/run=<run>/host=<host>/`.
`flowsweep columns TABLE` prints the same.
"""
QUERIES_ARE = """\
# Queries

The rows behind each figure and table of the report:
`flowsweep query NAME results/EXPERIMENT`.
`--sql` prints the SQL that leads to them.
"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages of the reference."""
    for name, text in reference().items():
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Runs the blocks of a tutorial, and puts what they print behind them."""
    return run_blocks(markdown) if page.file.src_uri in RUN else markdown


def run_blocks(markdown: str) -> str:
    """The page with the output of its blocks.

    Raises:
        PluginError: A command failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(TRACE, Path(folder) / "trace.pcap")
        return BLOCK.sub(lambda block: _run(block[1], block[2], folder), markdown)


def _run(kind: str, text: str, folder: str) -> str:
    if kind == "python":
        printed = _printed([sys.executable, "-c", text], folder)
        return f"```python\n{text}```\n\n```text\n{printed}```"
    shown = []
    for line in text.splitlines():
        command = line.removeprefix("$ ")
        shown += [line + "\n", _printed(["/bin/sh", "-c", command], folder)]
    return f"```console\n{''.join(shown)}```"


def _printed(words: list[str], folder: str) -> str:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": str(WIDTH), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise PluginError(f"{words[-1]}\nexit code {done.returncode}: {done.stderr}{done.stdout}")
    return done.stdout + done.stderr


def reference() -> dict[str, str]:
    """The generated pages by their names."""
    names, tables = dictionary.names(), len(dictionary.table_names())
    return {
        "tables": _tables(names[:tables]),
        "queries": _queries(names[tables:]),
        "commands": _commands(),
        "python": _python(),
    }


def _cell(text: str | None) -> str:
    return (text or "").replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def _tables(names: list[str]) -> str:
    parts = [TABLES_ARE]
    for name in names:
        parts.append(
            f"\n## {name}\n\n| column | type | unit | meaning | source |\n|---|---|---|---|---|\n"
        )
        parts += [
            f"| `{column}` | {kind} | {unit or ''} | {_cell(meaning)} | {_cell(source)} |\n"
            for column, kind, unit, meaning, source in dictionary.columns(name)
        ]
    return "".join(parts)


def _queries(names: list[str]) -> str:
    from flowsweep.warehouse import figures, reports_folder

    parts = [QUERIES_ARE]
    for name in names:
        described = figures.read_description(reports_folder(), name)
        parts.append(f"\n## {name}\n\n{described['description']} One row: {described['row']}.\n")
        parts.append("\n| column | meaning |\n|---|---|\n")
        parts += [f"| `{row[0]}` | {_cell(row[3])} |\n" for row in dictionary.columns(name)]
    return "".join(parts)


def _commands() -> str:
    parts = ["# Commands\n"]
    for name in COMMANDS:
        words = [sys.executable, "-m", "flowsweep", name, "--help"]
        help_text = _printed(words, str(ROOT))
        # The names of the queries have a page of their own.
        parts.append(f"\n## {name}\n\n```text\n{help_text.partition(chr(10) + 'names:')[0]}```\n")
    return "".join(parts)


def _python() -> str:
    parts = [f"# Python\n\n```text\n{inspect.getdoc(flowsweep)}\n```\n"]
    for name in flowsweep.__all__:
        found = getattr(flowsweep, name)
        if name == "__version__":
            continue
        parts.append(f"\n## flowsweep.{name}\n\n{_documented(name, found)}")
        if inspect.isclass(found) and not issubclass(found, Exception):
            for method, value in vars(found).items():
                if not method.startswith("_") and inspect.getdoc(value):
                    parts.append(f"\n### {name}.{method}\n\n{_documented(method, value)}")
    return "".join(parts)


def _documented(name: str, found: object) -> str:
    signature = ""
    if inspect.isfunction(found):
        signature = f"```python\n{name}{inspect.signature(found)}\n```\n\n"
    return f"{signature}```text\n{inspect.getdoc(found)}\n```\n"
