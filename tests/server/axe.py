"""Accessibility as axe-core sees it; `python -m tests.server.axe` fetches its file anew."""

import sys
from pathlib import Path
from typing import Any

from skyband.server.console.vendored import VendoredFolder
from tests.server.browser import Page

HERE = Path(__file__).parent
AXE = VendoredFolder(HERE / "vendored.toml", HERE / "vendored")
# The success criteria of WCAG 2.2 up to level AA, and what axe holds to be good practice.
LOOK = """(async () => {
  const runOnly = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
  const { violations } = await axe.run(document, { runOnly, resultTypes: ["violations"] });
  const told = (node) => `${node.html.slice(0, 160)} ${node.any[0]?.message ?? ""}`;
  return violations.map(({ id, help, nodes }) => ({ id, help, where: nodes.map(told) }));
})()"""


def faults(page: Page) -> list[str]:
    """What axe-core finds fault with on a page as it is now, each with the elements that it is about."""
    if not page.run("typeof axe === 'object'"):
        page.run((AXE.folder / "axe.js").read_text(encoding="utf-8") + "; true")
    found: list[dict[str, Any]] = page.run(LOOK)
    return [f"{fault['id']}: {fault['help']}: {fault['where'][:4]}" for fault in found]


if __name__ == "__main__":
    AXE.update()
    sys.exit("\n".join(AXE.differences()) or None)
