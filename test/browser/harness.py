#!/usr/bin/env python3
"""The dashboard in a real browser: against a gateway in front of the test provider, against one that
asks for keys, against one whose tables are behind its journal, against one that investigates and asks before it acts,
against one with agents of its own, against one with versions of a policy, against the demo; and on a made-up history (dashboard/dev) for what is
hard to provoke.

    test/browser/harness.py BINARY BUILD_ROOT [SUITE...] [-- WORD...]
    test/browser/harness.py BINARY BUILD_ROOT --serve       starts it all, says where, and waits

A suite is a file NAME.test.mjs here; words choose tests by part of their name. Screenshots are left
in BUILD_ROOT/artefacts. Everything listens on ports of the system's choice.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "e2e"))
from gateway import Gateway, Provider, Process, digest, upstream  # noqa: E402
from library import Library, reply  # noqa: E402
from operator_model import Operator  # noqa: E402
from policies import Policies  # noqa: E402
from scripted_model import Model  # noqa: E402
from waiting_test import Asking  # noqa: E402

SUITE_SECONDS = 1500
SESSIONS = 100_000
KEYS = {"operator": "sk-operator", "viewer": "sk-viewer", "hidden": "sk-hidden"}
GOOD = {
    "plain": "plain", "think": "think+as:deepseek", "held-think": "long-think:60+hold:20:40+as:deepseek",
    "fast-think": "long-think:700+slow:5+as:deepseek", "long-think": "long-think:600+as:deepseek",
    "tools": "think-tools+as:deepseek", "tagged": "tags:think", "starve": "starve+as:deepseek",
    "echo": "echo",
}
BAD = {"broken": "error:500", "cut": "long-think:200+as:deepseek+cut:4000"}


class Demo(Process):
    def __init__(self, binary):
        self.binary, self.root = binary, ""

    def start(self):
        self.child = subprocess.Popen([self.binary, "demo", "--listen", "127.0.0.1:0"],
                                      stdout=subprocess.PIPE, text=True)
        for line in self.child.stdout:
            found = re.match(r"\s+(http://127\.0\.0\.1:\d+)/live$", line)
            if found:
                self.root = found[1]
            if "That was all three" in line:
                return
        raise RuntimeError("the demo did not start")

    def stop(self):
        super().stop()
        if self.child:
            self.child.stdout.close()


def config(provider, **more):
    """An effort in a client's own words brings its cap, so that the pages have caps and cuts to show."""
    more["reasoning"] = {"presets": "always", "repair_starved": True, **more.get("reasoning", {})}
    return {
        "providers": {
            "test": upstream(provider, "openai", GOOD, format="think", stall_timeout="600s"),
            "sealed": upstream(provider, "anthropic", {"sealed": "think+redacted"}),
            "bad": upstream(provider, "openai", BAD, retries=0),
        }, **more}


def keyed(provider):
    keys = [{"name": n, "sha256": digest(k)} for n, k in KEYS.items()]
    keys[0]["role"] = "operator"
    keys[2]["reasoning"] = "hide"
    return config(provider, keys=keys)


def out_of_reach(provider):
    """One provider that accepts connections and one at a port where nobody listens."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    gone = {"kind": "openai", "base_url": f"http://127.0.0.1:{port}/v1", "models": ["away"]}
    return {"providers": {"test": upstream(provider, "openai", GOOD), "gone": gone}, "probe": {"interval": "1s"}}


def backlog(provider):
    """A journal so small that a few calls put it over its soft mark. Calls at its ceiling wait."""
    return config(provider, journal={"max": "1MiB", "wait": "1h"}, threads=1)


def fill(gateway, count):
    """That many sessions more on record, put there beside the gateway."""
    now = time.time_ns() // 1000
    rows = ((f"many-{i:06}", now - i * 61_000_000, now - i * 61_000_000 + 4_000_000, "failed" if i % 17 == 3 else "completed",
             "gateway", "openai", f"question {i} of many", "think", 200 + i % 900, 100 + i % 700, i % 300) for i in range(count))
    db = sqlite3.connect(gateway.folder / "history.db", timeout=60)
    with db:
        db.executemany("INSERT INTO alert_sessions (session_id, started_at_us, completed_at_us, status, agent_type, alert_type, title,"
                       " model, input_tokens, output_tokens, reasoning_tokens, call_count)"
                       " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)", rows)
    db.close()


def chromium():
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def node():
    """One that the driver runs on, or None."""
    own = ROOT / "test/sdk/node_modules/.node"  # where the system's is too old
    for one in (shutil.which("node"), own.read_text().strip() if own.exists() else None):
        if one and int(subprocess.check_output([one, "-p", "parseInt(process.versions.node)"])) >= 18:
            return one
    return None


def missing():
    """What cannot be run without, in words; or None."""
    if not chromium():
        return "no chromium here"
    if not node():
        return "no node from 18 on here"
    setup = subprocess.run([ROOT / "tools/dashboard-setup"], capture_output=True, text=True, check=False)
    return setup.stderr.strip() if setup.returncode else None


def suites(names):
    found = {p.name.split(".")[0]: p for p in sorted(HERE.glob("*.test.mjs"))}
    unknown = set(names) - set(found)
    if unknown:
        sys.exit(f"no such suite: {', '.join(sorted(unknown))}; there are {', '.join(found)}")
    return {n: p for n, p in found.items() if not names or n in names}


def run(name, path, words, env):
    print(f"== {name}", flush=True)
    try:
        done = subprocess.run([node(), str(path), *words], env=env, timeout=SUITE_SECONDS, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
        out, good = done.stdout, done.returncode == 0
    except subprocess.TimeoutExpired as late:
        out = (late.stdout or b"").decode(errors="replace") + f"\n{name} took over {SUITE_SECONDS} s\n"
        good = False
    print(out, end="", flush=True)
    if not good and not re.search(r"\[  FAILED  \] \d+ test", out):
        print(f"[  FAILED  ] 1 tests, listed below:\n{name}: the suite itself")
    return good


def main():
    binary, build, *words = sys.argv[1:]
    binary = os.path.abspath(binary)
    words, chosen = (words[words.index("--") + 1:], words[:words.index("--")]) if "--" in words else ([], words)
    serve = chosen == ["--serve"]
    lost = None if serve else missing()
    if lost:
        print(f"skipped: the dashboard in a browser: {lost}\n[  PASSED  ] 0 tests.")
        return 0
    shots = Path(build) / "artefacts"
    shots.mkdir(parents=True, exist_ok=True)
    with Provider() as provider, Gateway(binary, config(provider)) as open_one, \
            Gateway(binary, keyed(provider)) as keyed_one, Gateway(binary, config(provider)) as many, \
            Gateway(binary, config(provider, reasoning={"keep": "none"})) as forgetful, \
            Gateway(binary, backlog(provider)) as behind, Gateway(binary, out_of_reach(provider)) as down, \
            Operator() as operator, Asking(operator) as asking, Demo(binary) as demo, \
            Policies(binary) as policies, tempfile.TemporaryDirectory() as folder, Model(reply(Path(folder))) as model, \
            Library(binary, model, Path(folder)) as library, Library(binary, model, Path(folder), KEYS) as keyed_library:
        fill(many, SESSIONS)
        env = {**os.environ, "CHROMIUM": chromium() or "", "ARTEFACTS": str(shots), "DASH_ROOT": open_one.root,
               "DASH_KEYED": keyed_one.root, "DASH_MANY": many.root, "DASH_FORGETFUL": forgetful.root,
               "DASH_BEHIND": behind.root, "DASH_DOWN": down.root, "DASH_BEHIND_STORE": str(behind.folder / "history.db"), "PYTHON": sys.executable,
               "DASH_ASKING": asking.root, "DASH_DEMO": demo.root, "DASH_POLICY": policies.root, "DASH_PROVIDER": provider.root,
               "DASH_AGENTS": library.root, "DASH_AGENTS_KEYED": keyed_library.root, "DASH_HOLD": folder,
               "RATIONALE": binary, "DASH_CONFIG": str(open_one.path), "DASH_ASKING_CONFIG": str(asking.path), "DASH_AGENTS_CONFIG": str(library.path),
               "NO_PROXY": "127.0.0.1,localhost",
               "NODE_NO_WARNINGS": "1", **{f"KEY_{n.upper()}": k for n, k in KEYS.items()}}
        if serve:
            print(open_one.root, keyed_one.root, demo.root, many.root, flush=True)
            while True:
                time.sleep(60)
        good = [run(n, p, words, env) for n, p in suites(chosen).items()]
        if not all(good):
            print(open_one.log_tail())
    return 0 if good and all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
