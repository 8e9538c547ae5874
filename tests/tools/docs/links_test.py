"""The documents hang together: relative links and their anchors, paths that the text names, an index
that reaches every page, and a README of at most 150 lines.

Run it from anywhere; it reads every *.md of the checkout but those under build/.
"""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
DOCUMENTS = ROOT / "tools" / "docs"
README_LINES = 150
ROOMS = ("allocator", "sim", "tests", "tools", "traces", "workloads")

FENCED = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[(?:[^][]|\[[^]]*\])*\]\(([^()\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
HEADING = re.compile(r"^#{1,6} +(.*?) *#*$", re.MULTILINE)
NAMED_PATH = re.compile(rf"(?<![\w./<>-])((?:{'|'.join(ROOMS)})/[\w./*{{}},+-]*\w)")


def pages():
    return sorted(path for path in ROOT.rglob("*.md") if not {"build", ".git"} & set(path.relative_to(ROOT).parts))


def without_code(text):
    return CODE.sub(lambda match: "`" + "x" * len(match[1]) + "`", FENCED.sub("", text))


def links(page):
    return LINK.findall(without_code(page.read_text()))


def local_links(page):
    """(link, file it leads to, anchor) of the links within the repository."""
    for link in links(page):
        if not re.match(r"[a-z]+:", link):
            path, _, anchor = link.partition("#")
            yield link, (page.parent / path).resolve() if path else page, anchor


def anchor_of(heading):
    """As GitHub makes it: lower case, punctuation dropped, a hyphen for each space."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def anchors(page):
    seen, found = {}, set()
    for heading in HEADING.findall(FENCED.sub("", page.read_text())):
        anchor = anchor_of(heading)
        found.add(f"{anchor}-{seen[anchor]}" if anchor in seen else anchor)
        seen[anchor] = seen.get(anchor, 0) + 1
    return found


def alternatives(path):
    """a/{b,c}.cpp -> a/b.cpp, a/c.cpp"""
    match = re.search(r"\{([^}]*)\}", path)
    if not match:
        return [path]
    return [other for word in match[1].split(",")
            for other in alternatives(path[:match.start()] + word + path[match.end():])]


PLACEHOLDER = re.compile(r"(^|/)([A-Z]|NAME\w*)(\.|/|$)")  # as in recorded/X.json


def exists(path):
    """A file or folder, a pattern that matches one, or a source named without its ending."""
    return any(True for pattern in (path, path + ".*") for _ in ROOT.glob(pattern))


class Documents(unittest.TestCase):
    def test_links_lead_somewhere(self):
        broken = [f"{page.relative_to(ROOT)}: {link}" for page in pages()
                  for link, target, _ in local_links(page) if not target.exists()]
        self.assertEqual(broken, [])

    def test_anchors_exist(self):
        broken = [f"{page.relative_to(ROOT)}: {link}" for page in pages()
                  for link, target, anchor in local_links(page)
                  if anchor and target.suffix == ".md" and target.exists() and anchor not in anchors(target)]
        self.assertEqual(broken, [])

    def test_paths_in_the_text_exist(self):
        broken = [f"{page.relative_to(ROOT)}: {path}" for page in pages()
                  for named in sorted(set(NAMED_PATH.findall(page.read_text())))
                  for path in alternatives(named) if not PLACEHOLDER.search(path) and not exists(path)]
        self.assertEqual(broken, [])

    def test_the_index_reaches_every_page(self):
        reached, todo = set(), [DOCUMENTS / "README.md"]
        while todo:
            page = todo.pop()
            if page not in reached:
                reached.add(page)
                todo += [target for _, target, _ in local_links(page)
                         if target.suffix == ".md" and DOCUMENTS in target.parents and target.exists()]
        missing = {page for page in pages() if DOCUMENTS in page.parents} - reached
        self.assertEqual(sorted(str(page.relative_to(ROOT)) for page in missing), [])

    def test_the_readme_is_short(self):
        self.assertLessEqual(len((ROOT / "README.md").read_text().splitlines()), README_LINES)

    def test_pictures_are_small(self):
        for picture in (DOCUMENTS / "pictures").glob("*.png"):
            self.assertLess(picture.stat().st_size, 200_000, picture.name)


if __name__ == "__main__":
    unittest.main()
