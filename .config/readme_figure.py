"""Makes the figure of the README from the report of `make demo`, in light and dark.

.venv/bin/python .config/readme_figure.py results/demo/report.html reports
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

FIGURES = ["completion_by_rate", "completion_by_rtt"]
ARRANGE = """
(ids) => {
  const drawings = ids.map((id) =>
    document.getElementById('figure-' + id).querySelector('.picture svg'));
  const row = document.createElement('div');
  row.id = 'readme';
  row.style.cssText = 'display:flex;flex-direction:column;gap:18px;padding:14px;width:860px';
  for (const drawing of drawings) row.append(drawing);
  document.body.replaceChildren(row);
}
"""


def main(report: Path, folder: Path) -> None:
    """Writes the figure of the README from a report."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        for scheme in ("light", "dark"):
            page = browser.new_page(
                viewport={"width": 900, "height": 900}, color_scheme=scheme, device_scale_factor=2
            )
            page.goto(report.absolute().as_uri())
            page.evaluate(ARRANGE, FIGURES)
            page.locator("#readme").screenshot(path=folder / f"readme-{scheme}.png")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
