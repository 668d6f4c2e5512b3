"""Are the pages whole? Run by ``make docs`` on what was built; nothing is fetched.

Every link and every picture inside the documentation leads somewhere, down to the section; every formula is drawn by the
browser itself; every picture has a text; no page loads anything from elsewhere; and the version stands in the header::

    python docs/check_pages.py docs/_build/html
"""

from __future__ import annotations

import sys
import tomllib
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
# What brings something onto a page by itself: the attribute that says from where.
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "embed": "src", "link": "href"}
# Links of the head that are addresses and not files.
NOT_LOADED = {"canonical", "next", "prev", "search", "index", "author", "license", "contents", "copyright", "top", "up"}
# Pages of the tools, written by nobody.
LISTINGS = {"genindex", "py-modindex", "search"}


@dataclass
class Page(HTMLParser):
    """What has to be known of a page."""

    path: Path
    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    n_formulas: int = 0
    title: str = ""
    _inside: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.feed(self.path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        names_a_page = tag == "link" and bool(NOT_LOADED & set(found.get("rel", "").split()))
        if tag in LOADED and LOADED[tag] in found and not names_a_page:
            self.loads.append(found[LOADED[tag]])
        # Thumbnails of the gallery stand beside their title: an empty text keeps it from being read twice.
        beside_title = found.get("alt") == "" and found.get("src", "").endswith("_thumb.png")
        if tag == "img" and not found.get("alt", "").strip() and not beside_title:
            self.faults.append(f"a picture without a text: {found.get('src', '')}")
        if "math" in found.get("class", "").split():
            self.n_formulas += 1
            self._inside.append("formula")
        if tag == "math" and "formula" in self._inside:
            self._inside.remove("formula")
        if tag == "title":
            self._inside.append("title")

    def handle_endtag(self, tag: str) -> None:
        if tag == "title" and "title" in self._inside:
            self._inside.remove("title")
        if tag in ("span", "div") and "formula" in self._inside:
            self._inside.remove("formula")
            self.faults.append("a formula that is no MathML")

    def handle_data(self, data: str) -> None:
        if "title" in self._inside:
            self.title += data


def outside(address: str) -> bool:
    parts = urlsplit(address)
    return bool(parts.scheme or parts.netloc)


def faults_of(pages: dict[Path, Page], version: str) -> list[str]:
    """One line for everything that is wrong."""
    found = []
    for path, page in sorted(pages.items()):
        told = [
            *page.faults,
            *(
                f"loads {address} from elsewhere"
                for address in page.loads
                if outside(address) and not address.startswith("data:")
            ),
        ]
        for address in [*page.links, *page.loads]:
            if outside(address) or not address:
                continue
            parts = urlsplit(address)
            target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
            anchor = unquote(parts.fragment)
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                told.append(f"a link that leads nowhere: {address}")
            elif anchor and target in pages and anchor not in pages[target].anchors:
                told.append(f"a link to a section that is not there: {address}")
        if version not in page.title and path.stem not in LISTINGS:
            told.append(f"the version {version} is not in its title")
        found += [f"{path.name}: {line}" for line in dict.fromkeys(told)]
    return found


def main(folder: Path) -> int:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    paths = [path for path in folder.resolve().rglob("*.html") if "_static" not in path.parts and "_modules" not in path.parts]
    pages = {path: Page(path) for path in paths}
    found = faults_of(pages, version)
    print("\n".join(found))
    links, formulas = sum(len(page.links) for page in pages.values()), sum(page.n_formulas for page in pages.values())
    if not (folder / "searchindex.js").exists():
        found.append("there is no index to search")
    print(f"{len(pages)} pages, {links} links, {formulas} formulas: {len(found) or 'no'} fault{'s' if len(found) != 1 else ''}")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
