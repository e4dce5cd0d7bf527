#!/usr/bin/env python3
"""LangGraph's checkpointer validation suite against the threads API, through a saver in JavaScript.

    test/e2e/langgraph_test.py BINARY SOURCE_ROOT
"""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from command import BINARY, SOURCE
from gateway import Gateway, Provider, digest, upstream

KEY = "sk-graph"
SERVER = os.environ.get("RATIONALE_TEST_POSTGRES")  # started by tools/postgres-run; else SQLite
NODE_MIN = 20
TESTS_MIN = 718  # in the pinned version of the suite


def node_version():
    """The major version of the installed node, or 0."""
    node = shutil.which("node")
    if not node:
        return 0
    said = subprocess.run([node, "--version"], text=True, stdout=subprocess.PIPE, check=False).stdout
    found = re.match(r"v(\d+)", said)
    return int(found[1]) if found else 0


def config(provider):
    out = {"keys": [{"name": "graph", "sha256": digest(KEY)}],
           "providers": {"test": upstream(provider, "openai", {"plain": "plain"})}}
    if SERVER:
        subprocess.run(["psql", SERVER.replace("%s", "postgres"), "-qc", "CREATE DATABASE graphs"],
                       check=True)
        spool = tempfile.mkdtemp(prefix="rationale-spool-")
        out.update(store=SERVER.replace("%s", "graphs"), spool=spool)
    return out


class Suite(unittest.TestCase):
    def test_the_official_suite_passes(self):
        subprocess.run([SOURCE / "tools/langgraph-setup"], check=True)
        folder = SOURCE / "test/e2e/langgraph"
        with Provider() as provider, Gateway(BINARY, config(provider)) as gateway:
            report = gateway.folder / "report.json"
            ran = subprocess.run(
                ["node", "node_modules/vitest/vitest.mjs", "run", "--reporter=json",
                 f"--outputFile={report}"], cwd=folder, text=True, check=False,
                env={**os.environ, "GATEWAY": gateway.root, "GATEWAY_KEY": KEY, "CI": "1"},
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertTrue(report.exists(), ran.stdout[-4000:])
            result = json.loads(report.read_text())
        shutil.rmtree(gateway.config.get("spool", ""), ignore_errors=True)
        bad = [a for f in result["testResults"] for a in f["assertionResults"]
               if a["status"] != "passed"]
        for a in bad[:5]:
            print(a["status"], a["fullName"], *a["failureMessages"][:1], sep="\n  ")
        print(f"langgraph-checkpoint-validation: {result['numPassedTests']} of "
              f"{result['numTotalTests']}")
        self.assertEqual(bad, [])
        self.assertEqual(ran.returncode, 0, ran.stdout[-4000:])
        self.assertGreaterEqual(result["numPassedTests"], TESTS_MIN)


if __name__ == "__main__":
    if node_version() < NODE_MIN:
        print(f"skipped: this needs node {NODE_MIN}, here is {node_version() or 'none'}")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
