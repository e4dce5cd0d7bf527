#!/usr/bin/env python3
"""The files and commands of docs/how-to/incidents-kubernetes.md, as far as they run without a
cluster: a real Alertmanager with the page's route, the page's configuration, and recordings
instead of the cluster.

    test/e2e/kubernetes_guide_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from alertmanager_test import ALERTMANAGER, Alertmanager
from command import BINARY, PATIENCE, SOURCE, main
from gateway import Gateway, until
from operator_model import Operator

PAGE = (SOURCE / "docs/how-to/incidents-kubernetes.md").read_text()
CASE = SOURCE / "example" / "incidents" / "cases" / "bad-image"
AMTOOL = shutil.which("amtool")


def file(name):
    """The block after "File `NAME`:", without its indentation."""
    block = re.search(rf"^File `{re.escape(name)}`:\n\n((?:    .*\n|\n(?=    ))+)", PAGE, re.M)[1]
    return re.sub(r"^    ", "", block, flags=re.M)


def command(start):
    """The words of the page's command that starts with `start`."""
    line = re.search(rf"^    ({re.escape(start)}[^\n#]*)", PAGE, re.M)[1]
    return shlex.split(line)


class Guide(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        for name in ("rbac.yaml", "agents.yaml", "rationale.yaml", "alertmanager.yml", "alert.json"):
            (self.folder / name).write_text(file(name))
        (self.folder / "runbooks").mkdir()
        self.env = {**os.environ, "KUBECONFIG": str(self.folder / "reader.kubeconfig"), "OPENAI_API_KEY": "none"}

    def run_page(self, start, *more):
        words = command(start)
        words[0] = BINARY if words[0] == "rationale" else words[0]
        return subprocess.run([*words, *more], cwd=self.folder, env=self.env, capture_output=True, text=True,
                              timeout=PATIENCE, check=False)

    def test_the_role_reads_and_does_nothing_else(self):
        text = file("rbac.yaml")
        verbs = re.findall(r"verbs: \[(.*)\]", text)
        self.assertEqual(len(verbs), text.count("apiGroups:"))
        self.assertLessEqual({v for line in verbs for v in line.split(", ")}, {"get", "list", "watch"})
        named = " ".join(re.findall(r"resources: \[([^\]]*)\]", text))
        self.assertNotRegex(named, r"secrets|configmaps|\*|exec|attach|portforward")
        try:
            import yaml
        except ImportError:
            return
        kinds = [d["kind"] for d in yaml.safe_load_all(text)]
        self.assertEqual(kinds, ["Namespace", "ServiceAccount", "Secret", "ClusterRole", "ClusterRoleBinding"])

    def test_the_configuration_passes_the_check(self):
        r = self.run_page("rationale config check")
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)

    @unittest.skipUnless(AMTOOL, "amtool is not here (tools/setup test)")
    def test_amtool_accepts_the_route(self):
        r = self.run_page("amtool check-config")
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        self.assertIn("SUCCESS", r.stdout)

    @unittest.skipUnless(AMTOOL and ALERTMANAGER, "Alertmanager is not here (tools/setup test)")
    def test_an_alert_of_amtool_is_investigated(self):
        key = self.run_page("rationale keys new").stdout
        secret, sha256 = re.search(r"^rk-\S+", key)[0], re.search(r"[0-9a-f]{64}", key)[0]
        with Operator() as model:
            d = Gateway(BINARY, {"providers": model.provider(),
                                 "keys": [{"name": "alertmanager", "sha256": sha256}],
                                 "incidents": {"agents": str(self.folder / "agents.yaml"), "runbooks": str(self.folder / "runbooks")}})
            agents = file("agents.yaml").replace("command: npx", f"command: {BINARY}")
            agents = re.sub(r"args: \[.*\]", f"args: [mcp, --replay, {CASE}]", agents)
            (self.folder / "agents.yaml").write_text(agents)
            (self.folder / "rationale.key").write_text(secret)
            d.env["KUBECONFIG"] = self.env["KUBECONFIG"]
            with d, Alertmanager("http://127.0.0.1:1/") as am:
                route = file("alertmanager.yml").replace("http://rationale.example:8484", d.root)
                route = route.replace("/etc/alertmanager/rationale.key", str(self.folder / "rationale.key"))
                (am.folder / "alertmanager.yml").write_text(route.replace("group_wait: 30s", "group_wait: 1s"))
                am.ask("/-/reload")
                words = command("amtool alert add")
                words[-1] = f"--alertmanager.url=http://127.0.0.1:{am.port}"
                subprocess.run(words, check=True, timeout=PATIENCE, capture_output=True)

                def shown(*more):
                    return subprocess.run([BINARY, "incidents", *more, "--config", str(d.path)], capture_output=True,
                                          text=True, timeout=PATIENCE, check=False).stdout

                until(lambda: "completed" in shown())
                id = re.search(r"[0-9a-f]{8}-\S{27}", shown())[0]
                self.assertRegex(shown("show", id), r"firing +1 .*alertmanager.*KubePodCrashLooping")


if __name__ == "__main__":
    main()
