"""The site builds, its links lead somewhere, and its tutorials run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from flowsweep import dictionary

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs/pages"
LIMIT_S = 900
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(words: list[str], folder: Path) -> str:
    """Runs a command that must succeed; returns its output."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False,
        timeout=LIMIT_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Links(HTMLParser):
    """A page's links, and its anchors."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.names: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.names |= {found[name] or "" for name in ("id", "name") if name in found}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"] or "")
        if tag in ("script", "img") and found.get("src"):
            self.loads.append(found["src"] or "")
        if tag == "link" and found.get("rel") in ("stylesheet", "icon"):
            self.loads.append(found["href"] or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built once by commands that must succeed."""
    pytest.importorskip("material", reason="make docs installs Material for MkDocs")
    folder = tmp_path_factory.mktemp("site")
    config = ROOT / "docs/mkdocs.yml"
    run(["mkdocs", "build", "--quiet", "--config-file", str(config), "--site-dir", str(folder)],
        ROOT)  # fmt: skip
    return folder


def test_every_link_leads_somewhere_and_nothing_is_fetched(site: Path) -> None:
    pages = {page: Links(page) for page in site.rglob("*.html") if page.name != "404.html"}
    assert len(pages) >= 12
    for page, found in pages.items():
        assert not [one for one in found.loads if urlsplit(one).scheme], page
        for link in found.links:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            assert target.exists(), f"{page.name}: {link}"
            if parts.fragment:
                assert unquote(parts.fragment) in pages[target].names, f"{page.name}: {link}"


def test_the_reference_has_every_column(site: Path) -> None:
    text = "".join((site / f"reference/{name}.html").read_text() for name in ("tables", "queries"))
    for name in dictionary.names():
        assert f'id="{name}"' in text, name
        for column, *_ in dictionary.columns(name):
            assert f"<code>{column}</code>" in text, (name, column)


def test_the_tutorial_on_captures_shows_what_commands_print(site: Path) -> None:
    text = re.sub("<[^>]+>", "", (site / "captures.html").read_text(encoding="utf-8"))
    assert "519 packets, 1 connection -&gt; tables" in text
    assert "report.html" in text
    assert "rtt_min_ns" in text


def test_the_tutorial_on_a_sweep_runs(tmp_path: Path, namespaces: None) -> None:
    blocks = BLOCK.findall((PAGES / "sweep.md").read_text(encoding="utf-8"))
    kinds = [kind for kind, _ in blocks]
    assert (kinds.count("yaml"), kinds.count("sh") >= 4, kinds.count("python")) == (1, True, 1)
    for kind, text in blocks:
        if kind == "yaml":
            # Next to other tests most runs are invalid, and would be made three times.
            (tmp_path / "fetch.yaml").write_text(f"{text}retries: 0\n", encoding="utf-8")
        elif kind == "sh" and "testbed check" not in text:
            # Requirements of other kinds of testbed are no fault of the tutorial.
            run(["/bin/sh", "-ec", text], tmp_path)
        elif kind == "python":
            assert "completion_s" in run([sys.executable, "-c", text], tmp_path)
    assert "fetch" in (tmp_path / "results/fetch/report.html").read_text(encoding="utf-8")
