"""An agent for tests of `rationale watch`: sends the given requests and prints the replies.

    watch_agent.py BASE_URL_VARIABLE        requests as JSON on stdin, one list

Each request is {"method", "path", "headers", "body"}, the body in base64; each reply is printed
as a line {"status", "headers", "body"}, or {"error"}. {"touch": FILE} creates a file, {"wait":
FILE} waits for one, {"exit": N} and {"kill": SIGNAL} end the agent.
"""
# SPDX-License-Identifier: Apache-2.0
import base64
import http.client
import json
import os
import sys
import time
import urllib.parse
from pathlib import Path

WAIT_SECONDS = 240
base = urllib.parse.urlsplit(os.environ[sys.argv[1]])


def ask(r):
    c = http.client.HTTPConnection(base.hostname, base.port, timeout=WAIT_SECONDS)
    try:
        c.putrequest(r.get("method", "POST"), base.path + r["path"], skip_accept_encoding=True)
        body = base64.b64decode(r.get("body", ""))
        for name, value in r.get("headers", []):
            c.putheader(name, value)
        if body:
            c.putheader("content-length", str(len(body)))
        c.endheaders(body)
        reply = c.getresponse()
        return {"status": reply.status, "headers": reply.getheaders(),
                "body": base64.b64encode(reply.read()).decode()}
    except (OSError, http.client.HTTPException) as e:
        return {"error": type(e).__name__}
    finally:
        c.close()


for one in json.loads(sys.stdin.read()):
    if "touch" in one:
        Path(one["touch"]).touch()
    elif "wait" in one:
        end = time.monotonic() + WAIT_SECONDS
        while not Path(one["wait"]).exists() and time.monotonic() < end:
            time.sleep(0.01)
    elif "exit" in one:
        sys.exit(one["exit"])
    elif "kill" in one:
        os.kill(os.getpid(), one["kill"])
    else:
        print(json.dumps(ask(one)), flush=True)
