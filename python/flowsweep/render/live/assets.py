"""Finds DuckDB-WASM and Arrow's JavaScript, which a page for questions carries."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from flowsweep import content
from flowsweep.errors import FlowsweepError

#: The environment variable that names a folder `node_modules` with both packages.
VARIABLE = "FLOWSWEEP_NODE_MODULES"
#: The package of DuckDB-WASM, the tested version, and the files that a page carries.
DUCKDB, VERSION = "@duckdb/duckdb-wasm", "1.32.0"
WASM, WORKER = f"{DUCKDB}/dist/duckdb-eh.wasm", f"{DUCKDB}/dist/duckdb-browser-eh.worker.js"
LIBRARY, ARROW = f"{DUCKDB}/dist/duckdb-browser.cjs", "apache-arrow/Arrow.es2015.min.js"


@dataclass(frozen=True)
class Assets:
    """The programs that a page carries to answer questions.

    Attributes:
        version: Version of DuckDB-WASM.
        wasm: DuckDB itself.
        worker: The script that runs DuckDB in a worker of the page.
        library: The script with which the page talks to the worker.
        arrow: The script that reads DuckDB's answers.
    """

    version: str
    wasm: bytes
    worker: bytes
    library: str
    arrow: str


def find() -> Assets:
    """Reads the packages.

    Raises:
        FlowsweepError: They are not installed.
    """
    given = os.environ.get(VARIABLE)
    folder = Path(given) if given else Path(sys.prefix, "share", "flowsweep", "node_modules")
    try:
        described = json.loads((folder / DUCKDB / "package.json").read_text(encoding="utf-8"))
        return Assets(
            version=str(described["version"]),
            wasm=(folder / WASM).read_bytes(),
            worker=(folder / WORKER).read_bytes(),
            library=(folder / LIBRARY).read_text(encoding="utf-8"),
            arrow=(folder / ARROW).read_text(encoding="utf-8"),
        )
    except (OSError, ValueError, KeyError) as error:
        raise FlowsweepError(
            "DuckDB-WASM is not installed, which a page for questions carries",
            found=str(error),
            expected=f"the npm packages {DUCKDB} and apache-arrow in {folder}",
            remedy=content.live_remedy(f"{DUCKDB}@{VERSION}", VARIABLE),
        ) from error
