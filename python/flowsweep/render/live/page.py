"""Makes live.html from the tables of results/<experiment>: it answers any question offline."""

from __future__ import annotations

import base64
import gzip
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

import flowsweep
from flowsweep import content
from flowsweep.files import parquet_files
from flowsweep.files.outputs import explaining, write_file
from flowsweep.files.owned import refuse_foreign_report
from flowsweep.render import inline, templates
from flowsweep.render.live import assets
from flowsweep.warehouse import answers

if TYPE_CHECKING:
    from pathlib import Path

#: Compressed bytes above which a table is left out.
MAX_TABLE_BYTES = 6_000_000
#: Schemas of the report's database, in the order of the list, and what they contain.
SCHEMAS = {"main": "Rows of the figures", "models": "Runs and points", "facts": "Kept of each run"}
FIRST = "from run_table"


@dataclass(frozen=True)
class LivePage:
    """A page for questions.

    Attributes:
        html: The whole page.
        left_out: Names of the tables that were too large for it.
    """

    html: str
    left_out: list[str]


def write(directory: Path) -> tuple[Path, LivePage]:
    """Writes DIR/live.html, whole or not at all, from the DIR/DIR.duckdb of a report.

    Returns the path of the page, and the page.
    """
    path = directory / "live.html"
    refuse_foreign_report(path)
    page = build(answers.path_of(directory), assets.find())
    with explaining(f"cannot write {path}"):
        write_file(path, page.html)
    return path, page


def build(database: Path, found: assets.Assets) -> LivePage:
    """Builds the page of a report's database.

    Args:
        database: results/<experiment>/<experiment>.duckdb.
        found: DuckDB-WASM.
    """
    tables, parts, left_out = _tables(database)
    folder = content.folder("reports") / "live"
    style = inline.styles(folder)
    scripts = [_library(found.arrow, "Arrow"), _library(found.library, "duckdb"), _script(folder)]
    text = templates.fill(
        folder,
        "page.html.j2",
        experiment=inline.printable(database.stem),
        database=inline.printable(database.name),
        policy=_policy(style, scripts),
        style=style,
        schemas=[
            {"heading": heading, "tables": own}
            for schema, heading in SCHEMAS.items()
            if (own := [one for one in tables if one["schema"] == schema])
        ],
        first=FIRST,
        left_out=left_out,
        limit_mb=MAX_TABLE_BYTES // 1_000_000,
        made_by=f"flowsweep {flowsweep.__version__}, DuckDB-WASM {found.version}",
        index=htmlsafe_json_dumps({"tables": tables}),
        parts=[_part("wasm", found.wasm), _part("worker", found.worker), *parts],
        scripts=scripts,
    )
    return LivePage(text, left_out)


def _tables(database: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[str]]:
    """Returns descriptions of the tables, their packed rows, and the names of those left out."""
    tables: list[dict[str, Any]] = []
    parts: list[dict[str, Any]] = []
    left_out: list[str] = []
    with duckdb.connect(database, read_only=True) as connection:
        folder = parquet_files.quote(str(database.parent.absolute()))
        connection.execute(f"set file_search_path = {folder}")
        connection.execute("set timezone = 'UTC'")
        for schema, name, about in _names(connection):
            title = name if schema == "main" else f"{schema}.{name}"
            # A fact is several files, whose rows have no fixed order; those of a figure have.
            order = " order by all" if schema == "facts" else ""
            rows = connection.sql(f'from {schema}."{name}"{order}').pl()
            part = _part(f"table-{len(parts)}", _arrow(rows))
            if len(part["base64"]) > MAX_TABLE_BYTES:
                left_out.append(title)
                continue
            parts.append(part)
            tables.append(
                {
                    "schema": schema,
                    "name": name,
                    "title": title,
                    "about": about or "",
                    "rows": rows.height,
                    "columns": _columns(connection, schema, name),
                    "part": part["id"],
                }
            )
    return tables, parts, left_out


def _names(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str, str | None]]:
    found = connection.execute(
        "select schema_name, table_name, comment from duckdb_tables()"
        " union all select schema_name, view_name, comment from duckdb_views() where not internal"
    ).fetchall()
    order = list(SCHEMAS)
    return sorted(
        (row for row in found if row[0] in order), key=lambda row: (order.index(row[0]), row[1])
    )


def _columns(connection: duckdb.DuckDBPyConnection, schema: str, name: str) -> list[dict[str, str]]:
    found = connection.execute(
        "select column_name, data_type, comment from duckdb_columns()"
        " where schema_name = ? and table_name = ? order by column_index",
        [schema, name],
    ).fetchall()
    return [{"name": row[0], "type": row[1], "about": row[2] or ""} for row in found]


def _arrow(rows: pl.DataFrame) -> bytes:
    """Returns a stream of Arrow IPC, without types that Arrow's JavaScript does not read."""
    stream = io.BytesIO()
    # Arrow leaves the bytes of a null undefined: this makes them the same every time.
    for flat, empty in ((pl.selectors.numeric(), 0), (pl.selectors.boolean(), False)):
        rows = rows.with_columns(pl.when(flat.is_not_null()).then(flat.fill_null(empty)))
    rows.write_ipc_stream(stream, compat_level=pl.CompatLevel.oldest())
    return stream.getvalue()


def _part(name: str, data: bytes) -> dict[str, Any]:
    packed = base64.b64encode(gzip.compress(data, 6, mtime=0)).decode()
    return {"id": name, "base64": Markup(packed)}  # noqa: S704 - base64 has no markup


def _library(text: str, name: str) -> Markup:
    """Turns a CommonJS script into one that defines `name` in the page as what it exports."""
    # Text that would end its `<script>` element is escaped.
    safe = text.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    return Markup(  # noqa: S704 - of packages that are locked
        f"const {name} = (() => {{ const module = {{ exports: {{}} }}, exports = module.exports,"
        f" require = () => Arrow;\n{safe}\nreturn module.exports; }})();"
    )


def _script(folder: Path) -> Markup:
    paths = sorted(folder.glob("*.js"))
    return Markup("\n".join(path.read_text(encoding="utf-8") for path in paths))  # noqa: S704 - our own files


def _policy(style: Markup, scripts: list[Markup]) -> str:
    """Returns a policy that allows the page's own style, scripts and worker, but no request."""
    hashes = " ".join(inline.digest(one) for one in scripts)
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src {inline.digest(style)}",
            f"script-src 'wasm-unsafe-eval' {hashes}",
            "worker-src blob:",
            "connect-src data:",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
