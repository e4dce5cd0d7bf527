"""A real browser, if there is one, driven over a pipe in its own protocol: no driver to install.

    with Browser(width=390, dark=True) as page:
        page.open(url)
        page.wait("document.title === 'Rationale'")
"""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PATIENCE = 60
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe",
         "--disable-background-networking", "--disable-component-update", "--disable-sync")


class Browser:
    def __init__(self, width=1100, height=900, dark=False):
        self.size, self.dark = (width, height), dark
        self.number, self.rest = 0, b""
        self.complaints, self.requests = [], []

    def __enter__(self):
        self.folder = tempfile.mkdtemp()
        to_browser, self.out = os.pipe()
        self.inp, from_browser = os.pipe()

        def descriptors():  # the protocol is on 3 and 4
            a, b = os.dup(to_browser), os.dup(from_browser)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.child = subprocess.Popen([PROGRAM, *FLAGS, f"--user-data-dir={self.folder}"],
                                      pass_fds=(3, 4), preexec_fn=descriptors,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=self.size[0], height=self.size[1],
                  deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if self.dark else "light"}])
        return self

    def __exit__(self, *_):
        self.child.kill()
        self.child.wait()
        os.close(self.inp)
        os.close(self.out)
        shutil.rmtree(self.folder, ignore_errors=True)

    def message(self):
        until = time.monotonic() + PATIENCE
        while b"\0" not in self.rest:
            if not select.select([self.inp], [], [], max(0, until - time.monotonic()))[0]:
                raise AssertionError("the browser does not answer")
            piece = os.read(self.inp, 1 << 20)
            if not piece:
                raise AssertionError("the browser has gone")
            self.rest += piece
        one, self.rest = self.rest.split(b"\0", 1)
        return json.loads(one)

    def note(self, m):
        p = m.get("params", {})
        if m["method"] == "Log.entryAdded":
            self.complaints.append(p["entry"]["text"])
        elif m["method"] == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(p["exceptionDetails"]))
        elif m["method"] == "Runtime.consoleAPICalled":
            self.complaints.append(json.dumps(p["args"]))
        elif m["method"] == "Network.requestWillBeSent":
            self.requests.append(p["request"]["url"])

    def call(self, method, **params):
        self.number += 1
        m = {"id": self.number, "method": method, "params": params}
        if self.session:
            m["sessionId"] = self.session
        os.write(self.out, json.dumps(m).encode() + b"\0")
        while True:
            got = self.message()
            if got.get("id") == self.number:
                if "error" in got:
                    raise AssertionError(f"{method}: {got['error']}")
                return got["result"]
            if "method" in got:
                self.note(got)

    def open(self, url):
        self.call("Page.navigate", url=url)

    def js(self, code):
        got = self.call("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in got:
            raise AssertionError(json.dumps(got["exceptionDetails"]))
        return got["result"].get("value")

    def wait(self, code):
        until = time.monotonic() + PATIENCE
        while not self.js(f"(() => {{ try {{ return !!({code}) }} catch {{ return false }} }})()"):
            if time.monotonic() > until:
                raise AssertionError(f"{code} did not come; the page: {self.js('document.body.innerText')}")
            time.sleep(0.05)
