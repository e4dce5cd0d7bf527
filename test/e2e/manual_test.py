#!/usr/bin/env python3
"""The manual: every link has a target, and the gateway serves the manual at /docs.

    test/e2e/manual_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import gzip
import http.client
import json
import os
import re
import sys
import unittest
from pathlib import Path

from command import BINARY, PATIENCE, SOURCE, main
from gateway import Gateway

sys.path.insert(0, str(SOURCE / "tools" / "manual"))
from markdown import Page  # noqa: E402

DOCS = SOURCE / "docs"
TEXTS = sorted(DOCS.rglob("*.md")) + [SOURCE / n for n in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES = {p: Page(p.read_text(encoding="utf-8")) for p in TEXTS}
CONFIG = {"store": "none", "providers": {"openai": {"models": ["m"], "base_url": "http://127.0.0.1:1/v1"}}}


def named(path):
    return path.relative_to(SOURCE).as_posix()


def address(path):
    """The path at which the gateway serves a page of docs/."""
    name = path.relative_to(DOCS).with_suffix("").as_posix()
    return "/docs" if name == "README" else f"/docs/{name}"


def sources(folder):
    """Our own files below a folder."""
    for at, folders, files in os.walk(folder):
        folders[:] = [f for f in folders if f not in ("node_modules", "venv", "__pycache__", "corpora")]
        yield from (Path(at) / f for f in files)


class Links(unittest.TestCase):
    def test_every_link_leads_to_a_file_and_an_anchor(self):
        wrong, count = [], 0
        for path, page in PAGES.items():
            for line, target in page.links():
                if re.match(r"https?:|mailto:", target):
                    continue
                count += 1
                name, _, anchor = target.partition("#")
                to = (path.parent / name).resolve() if name else path
                if not to.exists():
                    wrong.append(f"{named(path)}:{line}: no file {target}")
                elif anchor and anchor not in PAGES[to].anchors:
                    wrong.append(f"{named(path)}:{line}: no heading {target}")
        self.assertEqual(wrong, [])
        self.assertGreater(count, 100)

    def test_paths_of_pages_in_sources_and_tests_exist(self):
        """When a page moves, the comments and messages that name it must change too."""
        wrong = []
        kinds = (".c", ".h", ".py", ".json", ".ts", ".tsx", ".mjs", ".sh", ".build", ".service")
        for folder in ("src", "test", "tools", "dashboard/src", "dashboard/dev", "example", "dist"):
            for path in sources(SOURCE / folder):
                if path.suffix not in kinds or path.name == "config_files_test.py":  # its names are invented
                    continue
                for name in re.findall(r"\bdocs/[\w/-]+\.(?:md|svg|png)\b", path.read_text(encoding="utf-8", errors="replace")):
                    if not (SOURCE / name).exists():
                        wrong.append(f"{named(path)}: {name}")
        self.assertEqual(wrong, [])

    def test_a_page_is_of_one_kind_and_begins_with_its_title(self):
        for path in DOCS.rglob("*.md"):
            if path.parent != DOCS:
                self.assertIn(path.parent.name, ("start", "how-to", "reference", "explanation"), path)
            page = PAGES[path]
            self.assertEqual([h.level for h in page.headings][:1], [1], path)
            self.assertEqual(sum(h.level == 1 for h in page.headings), 1, path)

    def test_the_readme_is_short(self):
        self.assertLess(len((SOURCE / "README.md").read_text().splitlines()), 120)


class Served(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.gateway = Gateway(BINARY, CONFIG, client_key="secret").__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.gateway.stop()

    def get(self, path, **headers):
        c = http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=PATIENCE)
        c.request("GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()})
        r = c.getresponse()
        body = r.read()
        c.close()
        return r.status, dict((k.lower(), v) for k, v in r.getheaders()), body

    def page(self, path):
        status, headers, body = self.get(path)
        self.assertEqual((status, headers["content-type"]), (200, "text/html; charset=utf-8"), path)
        return body.decode()

    def test_every_page_is_served_without_a_key(self):
        self.assertEqual(self.get("/v1/models")[0], 401)
        for path in DOCS.rglob("*.md"):
            text = self.page(address(path))
            self.assertIn(f"<title>{PAGES[path].title.replace('&', '&amp;')} · Rationale</title>", text)
        self.assertEqual(self.page("/docs/"), self.page("/docs"))
        for path in ("/docs/explanation/architecture", "/docs/explanation/contributing"):
            self.page(path)

    def test_links_between_served_pages_resolve(self):
        waiting, seen = ["/docs"], {}
        while waiting:
            path = waiting.pop()
            if path not in seen:
                seen[path] = self.page(path)
                waiting += re.findall(r'href="(/docs[^"#.]*)["#]', seen[path])
        self.assertEqual({address(p) for p in DOCS.rglob("*.md")} - set(seen), set())
        for path, text in seen.items():
            for target in re.findall(r'(?:href|src)="([^"]+)"', text):
                name, _, anchor = target.partition("#")
                name = name or path
                if re.match(r"https?:", name) or name in ("/",):
                    continue
                if name not in seen:
                    self.assertEqual(self.get(name)[0], 200, f"{path}: {target}")
                elif anchor:
                    self.assertIn(f'id="{anchor}"', seen[name], f"{path}: {target}")

    def test_types_and_protection_as_the_dashboard(self):
        kinds = {"/docs": "text/html; charset=utf-8", "/docs/manual.css": "text/css; charset=utf-8",
                 "/docs/manual.js": "text/javascript; charset=utf-8", "/docs/search.json": "application/json",
                 "/docs/images/split.svg": "image/svg+xml"}
        want = self.get("/page/index.html")[1]
        for path, kind in kinds.items():
            status, headers, body = self.get(path)
            self.assertEqual((status, headers["content-type"]), (200, kind), path)
            for name in ("content-security-policy", "x-content-type-options", "referrer-policy", "cache-control"):
                self.assertEqual(headers[name], want[name], path)
            packed = self.get(path, accept_encoding="gzip")
            self.assertEqual(packed[1]["content-encoding"], "gzip")
            self.assertEqual(gzip.decompress(packed[2]), body)
            self.assertEqual(self.get(path, if_none_match=headers["etag"])[0], 304)

    def test_nothing_inline_and_nothing_loaded_from_elsewhere(self):
        for path in DOCS.rglob("*.md"):
            text = self.page(address(path))
            self.assertEqual(re.findall(r"<style|\sstyle=|\son\w+=\"|href=\"javascript:|<iframe", text), [], path)
            self.assertEqual(re.findall(r"<(?:script|link|img)[^>]*(?:src|href)=\"(?!/)", text), [], path)

    def test_the_index_finds_words_of_every_page(self):
        index = json.loads(self.get("/docs/search.json")[2])
        words = {}
        for entry in index["words"].split(" "):
            word, numbers = entry.split(":")
            at, where = 0, []
            for n in numbers.split(","):
                at += int(n, 36)
                where.append(at)
            words[word] = where

        def pages(*asked):
            hits = set.intersection(*(set(words.get(w, ())) for w in asked))
            return {index["pages"][index["sections"][n][0]][0] for n in hits}

        self.assertIn("reference/configuration", pages("retention"))
        self.assertIn("reference/formats", pages("deepseek_r1"))
        self.assertIn("reference/masking", pages("secrets", "masked") | pages("secrets"))
        self.assertEqual(pages("zebra"), set())
        listed = {p for p, _ in index["pages"]}
        self.assertEqual({address(p)[6:] for p in DOCS.rglob("*.md")} - {""} - listed, set())
        for n, (_, anchor, title) in enumerate(index["sections"]):
            self.assertTrue(anchor and title, n)

    def test_what_does_not_exist(self):
        for path in ("/docs/nope", "/docs/reference", "/docs/reference/", "/docs/../page.c", "/docs/index.html.gz", "/docs//"):
            status, _, body = self.get(path)
            self.assertEqual(status, 404, path)
        self.assertIn("the manual at /docs", self.get("/docs/nope")[2].decode())


if __name__ == "__main__":
    main()
