"""A gateway in front of the test provider, both as real processes on their own ports.

    with Provider() as provider, Gateway(BINARY, config(provider)) as gateway: ...

A configuration is a dict; JSON is YAML.
"""
# SPDX-License-Identifier: Apache-2.0
import hashlib
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse
from pathlib import Path

PROVIDER_FOLDER = Path(__file__).resolve().parents[1] / "provider"
START_SECONDS = 120
PATIENCE = 120
# The path after the provider's root for each kind of upstream.
BASES = {"openai": "/v1", "responses": "/v1", "anthropic": "", "gemini": "", "mistral": "/mistral/v1",
         "ollama": ""}

# The gateway derives a model's parameters from its name where they depend on the generation.
FAMILIES = {"anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-flash"}


def can_serve(binary):
    """Whether this binary includes the gateway."""
    try:
        return subprocess.run([binary, "serve", "--help"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, timeout=30, check=False).returncode == 0
    except OSError:
        return False


class Process:
    """A child process that is ended in any case."""
    child = None

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        if self.child and self.child.poll() is None:
            self.child.kill()
        if self.child:
            self.child.wait()


def until(what, seconds=PATIENCE):
    """Waits until the function returns a true value, and returns it; the time limit allows for a
    busy machine."""
    end = time.monotonic() + seconds
    while not (got := what()):
        if time.monotonic() > end:
            raise AssertionError(f"it did not happen within {seconds} s")
        time.sleep(0.02)
    return got


def within(limit, measure, tries=5):
    """Returns when one of several attempts is below the limit. A real delay occurs in each attempt;
    load on the machine does not."""
    seen = []
    while not seen or seen[-1] >= limit:
        if len(seen) == tries:
            raise AssertionError(f"not once below {limit}: {seen}")
        seen.append(measure())
    return seen[-1]


def cpu_seconds(pid):
    """The CPU time of a process, which other load on the machine does not affect."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Provider(Process):
    def __init__(self, key="", scripts=None):
        self.key, self.scripts = key, scripts or {}
        self.port, self.root = 0, ""

    def start(self):
        # -S skips Python's site packages, so python starts five times as fast. Imported modules
        # have cached byte code; a script would be compiled at each start.
        self.child = subprocess.Popen([sys.executable, "-S", "-c", "import provider; provider.run()",
                                       "--key", self.key, "--scripts", json.dumps(self.scripts)],
                                      env={**os.environ, "PYTHONPATH": str(PROVIDER_FOLDER)},
                                      stdout=subprocess.PIPE, text=True)
        line = self.child.stdout.readline()
        if not line.startswith("port "):
            raise RuntimeError("the test provider did not start")
        self.port = int(line.split()[1])
        self.root = f"http://127.0.0.1:{self.port}"

    def stop(self):
        super().stop()
        if self.child:
            self.child.stdout.close()

    def log(self, text=""):
        """The provider's log, oldest first; only requests whose body contains this text."""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        c.request("GET", f"/__log?has={urllib.parse.quote(text)}")
        entries = json.loads(c.getresponse().read())
        c.close()
        for e in entries:
            e["fields"] = {k.lower(): v for k, v in e["headers"]}
        return entries

    def tell(self, method, path):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        c.request(method, path)
        c.getresponse().read()
        c.close()

    def forget(self):
        self.tell("DELETE", "/__log")

    def held(self, text, nth=1):
        """Waits until `hold` has paused a request with this text for the nth time."""
        until(lambda: any(e["held"] >= nth for e in self.log(text)))

    def go_on(self, text):
        self.tell("POST", f"/__go?has={urllib.parse.quote(text)}")


class Gateway(Process):
    """`rationale serve` with its own configuration, in its own folder."""

    def __init__(self, binary, config, client_key="", env=None):
        self.binary = binary
        self.folder = Path(tempfile.mkdtemp(prefix="rationale-"))
        self.path = self.folder / "rationale.yaml"
        self.port, self.root = 0, ""
        self.config = {"store": f"sqlite:{self.folder / 'history.db'}",
                       "breaker": {"failures": 1000},
                       "probe": {"interval": 0},  # upstreams in tests count connections
                       **config}
        if client_key:
            self.config.setdefault("keys", [{"name": "tests", "sha256": digest(client_key)}])
        self.env = {**os.environ, "UPSTREAM_KEY": "upstream-key", **(env or {})}
        self.log = self.folder / "log"

    def write(self, config=None):
        self.config = config or self.config
        self.path.write_text(json.dumps(self.config, ensure_ascii=False, indent=1))

    def start(self):
        self.write()
        with open(self.log, "ab") as log:
            before = log.tell()
            self.child = subprocess.Popen(
                [self.binary, "serve", "--config", str(self.path), "--listen", "127.0.0.1:0"],
                stdout=log, stderr=log, env=self.env, cwd=self.folder)
        end = time.monotonic() + START_SECONDS
        while not self.answers(before):
            if self.child.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"the gateway did not start:\n{self.log_tail()}")
            time.sleep(0.02)

    def answers(self, before):
        """Whether the gateway listens: reads the port from the log after `before`, and connects."""
        found = re.search(rb"listening on http://127\.0\.0\.1:(\d+)", self.log.read_bytes()[before:])
        if not found:
            return False
        self.port = int(found[1])
        self.root = f"http://127.0.0.1:{self.port}"
        try:
            c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
            c.request("GET", "/health")
            good = c.getresponse().status == 200
            c.close()
            return good
        except OSError:
            return False

    def signal(self, number):
        self.child.send_signal(number)

    def reload(self, config):
        """Writes a new configuration and sends SIGHUP, without waiting for the reload."""
        self.write(config)
        self.signal(signal.SIGHUP)

    def log_tail(self, size=6000):
        try:
            return self.log.read_text(errors="replace")[-size:]
        except OSError:
            return ""

    def stop(self):
        if self.child and self.child.poll() is None:
            self.child.terminate()
            try:
                self.child.wait(5)
            except subprocess.TimeoutExpired:
                pass
        super().stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def digest(key):
    return hashlib.sha256(key.encode()).hexdigest()


def upstream(provider, kind, models, **more):
    """A provider of the configuration; models is alias -> behaviour, or a list of behaviours."""
    if isinstance(models, dict) and kind in FAMILIES:
        models = {a: b if b.startswith(("claude", "gemini")) else f"{FAMILIES[kind]}+{b}"
                  for a, b in models.items()}
    out = {"kind": kind, "base_url": provider.root + BASES[kind], "models": models,
           "backoff": "20ms", **more}
    if kind != "ollama":
        out["api_key_env"] = "UPSTREAM_KEY"
    return out


def providers_of(provider, key, good, bad, **more):
    """All kinds, each with every behaviour as KIND-NAME. Failing behaviours and behaviours with
    tags have their own providers, so that their circuit breakers and formats do not affect
    others."""
    out = {}
    for kind in BASES:
        tags = {n: b for n, b in good.items() if b.startswith("tags")}
        rest = {n: b for n, b in good.items() if n not in tags}
        named = lambda table: {f"{kind}-{n}": b for n, b in table.items()}  # noqa: E731
        out[f"test-{kind}"] = upstream(provider, kind, named(rest))
        out[f"tags-{kind}"] = upstream(provider, kind, named(tags), format="think")
        out[f"bad-{kind}"] = upstream(provider, kind, named(bad), retries=1)
    return {"providers": out, **more}
