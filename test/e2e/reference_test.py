#!/usr/bin/env python3
"""Pages of the manual with a table of the program: rows, defaults and values must agree.

    test/e2e/reference_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import json
import re
import subprocess
import sys
import unittest

from command import BINARY, PATIENCE, SOURCE, main

REFERENCE = SOURCE / "docs" / "reference"


def page_rows(name, columns):
    """The cells of all table rows of a page that have this many columns."""
    rows = []
    for line in (REFERENCE / name).read_text(encoding="utf-8").splitlines():
        cells = [c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == columns:
            rows.append(cells)
    return rows


class Made(unittest.TestCase):
    def test_pages_that_a_tool_makes_are_up_to_date(self):
        done = subprocess.run([sys.executable, "-B", SOURCE / "tools/manual/reference", BINARY, "--check"],
                              capture_output=True, text=True, timeout=3 * PATIENCE, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)


class Configuration(unittest.TestCase):
    """Rows of the table `top` in src/gateway/config_rows.c."""

    @classmethod
    def setUpClass(cls):
        text = (SOURCE / "src/gateway/config_rows.c").read_text(encoding="utf-8")
        table = re.search(r"config_row top\[\] = \{\n(.*?)^\};", text, re.M | re.S)[1]
        row = re.compile(r"\{\s*\"([a-z_.]+)\",\s*CONFIG_IS_(\w+),\s*TOP\([^)]*\),\s*(\"[^\"]*\"|NULL),\s*([^,]+),\s*([^,]+),"
                         r"\s*(\"[^\"]*\"|NULL),")
        cls.rows = [(m[1], m[2], m[3].strip('"') if m[3] != "NULL" else "", m[6].strip('"') if m[6] != "NULL" else "")
                    for m in row.finditer(table)]
        cls.page = {}
        for names, default, allowed, *_ in page_rows("configuration.md", 5):
            for n, name in enumerate(re.findall(r"`([a-z_.]+)`", names)):
                cls.page[name] = (default, allowed, n)

    def test_every_name_of_the_program_is_on_the_page(self):
        self.assertGreater(len(self.rows), 40)
        self.assertEqual([r[0] for r in self.rows if r[0] not in self.page], [])

    def test_defaults_are_those_of_the_program(self):
        wrong = []
        for name, kind, default, _ in self.rows:
            said = self.page[name][0]
            plain = re.sub(r"[`,].*$", "", said.strip("`")) if default else said
            if default and plain != default and kind not in ("PATH", "STORE", "TEXT"):
                wrong.append(f"{name}: the page says {said}, the program {default}")
        self.assertEqual(wrong, [])

    def test_choices_are_those_of_the_program(self):
        for name, kind, _, choices in self.rows:
            if kind == "CHOICE":
                self.assertEqual(set(re.findall(r"`([^`]+)`", self.page[name][1])), set(choices.split()), name)


class Grafana(unittest.TestCase):
    """dist/grafana-dashboard.json uses only metrics and labels that exist."""
    DASHBOARD = json.loads((SOURCE / "dist/grafana-dashboard.json").read_text(encoding="utf-8"))
    WORDS = {"sum", "by", "rate", "increase", "max", "min", "le", "histogram_quantile", "label_values"}

    @classmethod
    def setUpClass(cls):
        cls.metrics = {}
        for name, kind, labels, _ in page_rows("metrics.md", 4):
            if name.startswith("`"):
                cls.metrics[name.strip("`")] = (kind, set(re.findall(r"`(\w+)`", labels)))

    def check(self, expression):
        found = re.findall(r"\b(?:rationale|react|gepa|process)_[a-z_]+", expression)
        self.assertTrue(found, expression)
        labels = set()
        for name in found:
            base = re.sub(r"_(bucket|sum|count)$", "", name) if name not in self.metrics else name
            self.assertIn(base, self.metrics, expression)
            self.assertEqual(self.metrics[base][0] == "histogram", base != name, expression)
            labels |= self.metrics[base][1]
        asked = set(re.findall(r"(\w+)\s*(?:=~|!=|!~|=)", expression))
        asked |= {w.strip() for group in re.findall(r"by \(([^)]*)\)", expression) for w in group.split(",")}
        self.assertLessEqual(asked - {"le"}, labels, expression)
        return asked | labels

    def test_queries(self):
        panels = [p for p in self.DASHBOARD["panels"] if p["type"] != "row"]
        self.assertGreater(len(panels), 15)
        for panel in panels:
            for target in panel["targets"]:
                known = self.check(target["expr"])
                self.assertLessEqual(set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])), known, panel["title"])

    def test_variables_and_places(self):
        names = {v["name"] for v in self.DASHBOARD["templating"]["list"]}
        text = json.dumps(self.DASHBOARD)
        self.assertEqual(set(re.findall(r"\$(?:\{)?([a-z]+)\b", text)) - {"datasource"}, names - {"datasource"})
        places = [tuple(p["gridPos"][k] for k in "xy") for p in self.DASHBOARD["panels"]]
        self.assertEqual(len(places), len(set(places)))
        self.assertEqual(len({p["id"] for p in self.DASHBOARD["panels"]}), len(places))

    def test_rules_of_the_page(self):
        page = (SOURCE / "docs/how-to/monitoring.md").read_text(encoding="utf-8")
        rules = re.findall(r"^        expr: (.*)$", page, re.M)
        self.assertEqual(len(rules), 4)
        for rule in rules:
            self.check(rule)


if __name__ == "__main__":
    main()
