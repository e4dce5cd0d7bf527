#!/usr/bin/env python3
"""Tests the dashboard in a real browser, against several daemons: a gateway in front of the test
provider, one that requires keys, one whose tables lag behind its journal, one that investigates
and waits for approvals, one with its own agents, one with versions of a policy, the demo; and a
generated history (dashboard/dev) for states that are hard to provoke.

    test/browser/harness.py BINARY BUILD_ROOT [SUITE...] [-- WORD...]
    test/browser/harness.py BINARY BUILD_ROOT --serve     starts all, prints the addresses, waits

A suite is a file NAME.test.mjs here, or the name of a program of the build, which runs several;
words select tests by part of their name. The harness starts only the daemons whose variables
DASH_... occur in the selected suites. It leaves screenshots of failures, or with BROWSER_SHOTS=1
of every page, in BUILD_ROOT/artefacts. All servers listen on free ports.
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
from contextlib import ExitStack
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
# The programs of the build, which run in parallel.
PROGRAMS = {
    "browser_agents": ["agents", "incidents", "policy"],
    "browser_axe": ["axe"],
    "browser_demo": ["demo", "manual", "markdown"],
    "browser_gateway": ["backlog", "gateway"],
    "browser_pages": ["numbers", "overview", "timeline"],
    "browser_states": ["states"],
}
SESSIONS = 100_000
KEYS = {"operator": "sk-operator", "viewer": "sk-viewer", "hidden": "sk-hidden"}
GOOD = {
    "plain": "plain", "think": "think+as:deepseek", "held-think": "long-think:60+hold:20:40+as:deepseek",
    "fast-think": "long-think:700+slow:5+hold:20+as:deepseek", "long-think": "long-think:600+as:deepseek",
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
    """An effort in a client's own words sets its cap, so that the pages have caps and cuts to show."""
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
    """A provider that accepts connections, and one at a port that refuses them."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    gone = {"kind": "openai", "base_url": f"http://127.0.0.1:{port}/v1", "models": ["away"]}
    return {"providers": {"test": upstream(provider, "openai", GOOD), "gone": gone}, "probe": {"interval": "1s"}}


def backlog(provider):
    """A journal so small that a few calls exceed its soft limit. Calls at its hard limit wait."""
    return config(provider, journal={"max": "1MiB", "wait": "1h"}, threads=1)


def fill(gateway, count):
    """Adds that many sessions directly to the database."""
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
    """Prefers the headless shell, which needs a third less CPU time; not every system has it."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, names)), None)


def node():
    """A node that is new enough for the driver, or None."""
    own = ROOT / "test/sdk/node_modules/.node"  # used where the system's is too old
    for one in (shutil.which("node"), own.read_text().strip() if own.exists() else None):
        if one and int(subprocess.check_output([one, "-p", "parseInt(process.versions.node)"])) >= 18:
            return one
    return None


def missing():
    """The missing prerequisite as text, or None."""
    if not chromium():
        return "no chromium here"
    if not node():
        return "no node from 18 on here"
    setup = subprocess.run([ROOT / "tools/dashboard-setup"], capture_output=True, text=True, check=False)
    return setup.stderr.strip() if setup.returncode else None


def suites(names):
    found = {p.name.split(".")[0]: p for p in sorted(HERE.glob("*.test.mjs"))}
    unrun = set(found) - {s for program in PROGRAMS.values() for s in program}
    if unrun:
        sys.exit(f"no program of the build runs {', '.join(sorted(unrun))}: add it to PROGRAMS in {__file__}")
    chosen = [suite for name in names for suite in PROGRAMS.get(name, [name])]
    unknown = set(chosen) - set(found)
    if unknown:
        sys.exit(f"no such suite: {', '.join(sorted(unknown))}; there are {', '.join([*found, *PROGRAMS])}")
    return {n: p for n, p in found.items() if not chosen or n in chosen}


def start(stack, binary, wanted):
    """Starts the daemons of the wanted variables, until the stack ends; returns the variables and
    the daemons."""
    env, started = {}, []

    def daemon(name, made):
        """A daemon whose address is in the variable NAME, its configuration in NAME_CONFIG, its
        database in NAME_STORE."""
        if {n for n in wanted if n in (name, f"{name}_CONFIG", f"{name}_STORE")}:
            one = stack.enter_context(made())
            started.append(one)
            env.update({name: one.root, f"{name}_CONFIG": str(getattr(one, "path", "")),
                        f"{name}_STORE": str(getattr(one, "folder", Path()) / "history.db")})
            return one
        return None

    provider = stack.enter_context(Provider())
    env["DASH_PROVIDER"] = provider.root
    daemon("DASH_ROOT", lambda: Gateway(binary, config(provider)))
    daemon("DASH_KEYED", lambda: Gateway(binary, keyed(provider)))
    daemon("DASH_FORGETFUL", lambda: Gateway(binary, config(provider, reasoning={"keep": "none"})))
    daemon("DASH_BEHIND", lambda: Gateway(binary, backlog(provider)))
    daemon("DASH_DOWN", lambda: Gateway(binary, out_of_reach(provider)))
    daemon("DASH_ASKING", lambda: Asking(stack.enter_context(Operator())))
    daemon("DASH_DEMO", lambda: Demo(binary))
    daemon("DASH_POLICY", lambda: Policies(binary))
    many = daemon("DASH_MANY", lambda: Gateway(binary, config(provider)))
    if many:
        fill(many, SESSIONS)
    if {n for n in wanted if n.startswith("DASH_AGENTS")}:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        model = stack.enter_context(Model(reply(folder)))
        env["DASH_HOLD"] = str(folder)
        daemon("DASH_AGENTS", lambda: Library(binary, model, folder))
        daemon("DASH_AGENTS_KEYED", lambda: Library(binary, model, folder, KEYS))
    return env, started


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
    files = suites([] if serve else chosen)
    wanted = set(re.findall(r"DASH_[A-Z_]+", "".join(p.read_text() for p in files.values())))
    with ExitStack() as stack:
        addresses, daemons = start(stack, binary, wanted)
        if serve:
            print(*(f"{name}={value}" for name, value in addresses.items()), sep="\n", flush=True)
            while True:
                time.sleep(60)
        env = {**os.environ, **addresses, "CHROMIUM": chromium() or "", "ARTEFACTS": str(shots), "PYTHON": sys.executable, "RATIONALE": binary,
               "NO_PROXY": "127.0.0.1,localhost", "NODE_NO_WARNINGS": "1", **{f"KEY_{n.upper()}": k for n, k in KEYS.items()}}
        good = [run(n, p, words, env) for n, p in files.items()]
        if not all(good):
            print(*(d.log_tail() for d in daemons if isinstance(d, Gateway)), sep="\n")
    return 0 if good and all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
