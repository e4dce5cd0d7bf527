#!/usr/bin/env python3
"""Runs the SDK suites against a gateway in front of the test provider.

    RATIONALE=build/rationale test/sdk/harness.py [SUITE...] [-- WORD...]
    DIRECT=1 test/sdk/harness.py ...      connects the SDKs directly to the provider, without a gateway

A suite is a file NAME.test.mjs or test_NAME.py here; words select tests by part of their name.
tools/sdk-setup downloads missing SDKs. All servers listen on free ports.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "e2e"))
from gateway import Gateway, Provider, can_serve, providers_of  # noqa: E402

SUITE_SECONDS = 240
UPSTREAM_KEY = "upstream-key"
CLIENT_KEY = "sk-client-key"


def suites(names):
    found = {p.name.split(".")[0]: p for p in sorted(HERE.glob("*.test.mjs"))}
    found.update({p.stem.replace("test_", "python-"): p for p in sorted(HERE.glob("test_*.py"))})
    unknown = set(names) - set(found)
    if unknown:
        sys.exit(f"no such suite: {', '.join(sorted(unknown))}; there are {', '.join(found)}")
    return {n: p for n, p in found.items() if not names or n in names}


def node():
    """The node that the setup selected."""
    own = HERE / "node_modules" / ".node"
    return own.read_text().strip() if own.exists() else "node"


def run(name, path, words, env):
    python = path.suffix == ".py"
    command = [str(HERE / "venv/bin/python"), str(path)] if python else [node(), str(path)]
    print(f"== {name}", flush=True)
    try:
        done = subprocess.run([*command, *words], env=env, cwd=HERE, timeout=SUITE_SECONDS,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", check=False)
        out, good = done.stdout, done.returncode == 0
    except subprocess.TimeoutExpired as late:
        out = (late.stdout or b"").decode(errors="replace") if isinstance(late.stdout, bytes) \
            else late.stdout or ""
        out += f"\n{name} took over {SUITE_SECONDS} s\n"
        good = False
    print(out, end="", flush=True)
    if not good and not re.search(r"\[  FAILED  \] \d+ test", out):
        print(f"[  FAILED  ] 1 tests, listed below:\n{name}: the suite itself")
    return good


def models():
    table = json.loads((HERE / "models.json").read_text())
    return table["good"], table["bad"]


def main():
    words = sys.argv[1:]
    words, chosen = (words[words.index("--") + 1:], words[:words.index("--")]) if "--" in words \
        else ([], words)
    direct = os.environ.get("DIRECT") == "1"
    binary = os.environ.get("RATIONALE", str(ROOT / "build/rationale"))
    if not direct and not can_serve(binary):
        print("skipped: rationale serve is not there\n[  PASSED  ] 0 tests.")
        return 0
    setup = subprocess.run([ROOT / "tools/sdk-setup"], stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, check=False)
    if setup.returncode:
        print(setup.stdout)
        if setup.returncode != 3:
            return 1
        print("skipped: the SDKs are not here and could not be fetched\n[  PASSED  ] 0 tests.")
        return 0
    env = {k: v for k, v in os.environ.items() if k.lower() not in (
        "http_proxy", "https_proxy", "all_proxy", "openai_base_url", "anthropic_base_url",
        "openai_api_key", "anthropic_api_key", "google_api_key", "gemini_api_key")}
    with Provider(key=UPSTREAM_KEY) as provider:
        env.update(SDK_PROVIDER=provider.root, NO_PROXY="127.0.0.1,localhost", NODE_NO_WARNINGS="1")
        if direct:
            env.update(SDK_ROOT=provider.root, SDK_KEY=UPSTREAM_KEY, DIRECT="1")
            good = [run(n, p, words, env) for n, p in suites(chosen).items()]
        else:
            plain, bad = models()
            config = providers_of(provider, UPSTREAM_KEY, plain, bad,
                                  agents={"helper": {"model": "openai-think", "prompt": "You help everyone."}})
            with Gateway(binary, config, client_key=CLIENT_KEY) as gateway:
                env.update(SDK_ROOT=gateway.root, SDK_KEY=CLIENT_KEY)
                good = [run(n, p, words, env) for n, p in suites(chosen).items()]
                if not all(good):
                    print(gateway.log_tail())
    return 0 if good and all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
