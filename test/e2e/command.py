"""Runs the real binary from outside: as a command, as a daemon, in a terminal.

    test/e2e/SOMETHING_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]

No test needs a network or depends on the machine's speed: each waits for its events for up to
PATIENCE seconds.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import pty
import select
import signal
import subprocess
import sys
import time
import unittest
from collections import namedtuple
from pathlib import Path

BINARY = str(Path(sys.argv[1] if len(sys.argv) > 1 else "build/rationale").resolve())
SOURCE = Path(__file__).resolve().parents[2]
PATIENCE = 120

# A shell without job control starts background jobs with SIGINT ignored, and children would inherit
# that, although tests use Ctrl-C. A signal with a handler here has its default action in a child.
signal.signal(signal.SIGINT, signal.default_int_handler)

Done = namedtuple("Done", "code out err")


def environment(**more):
    """An environment without the caller's variables that could change the output."""
    keep = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "TMPDIR") or "SAN_OPTIONS" in k}
    return {**keep, "LC_ALL": "C.UTF-8", **more}


def run(*args, stdin=b"", env=None, **more):
    if isinstance(stdin, str):
        stdin = stdin.encode()
    if isinstance(stdin, bytes):
        more["input"] = stdin
    elif stdin is not None:
        more["stdin"] = stdin
    more.setdefault("stdout", subprocess.PIPE)
    more.setdefault("timeout", PATIENCE)
    done = subprocess.run([BINARY, *args], stderr=subprocess.PIPE, env=env or environment(),
                          check=False, **more)
    return Done(done.returncode, done.stdout, done.stderr.decode())


def read_until(fd, wanted, have=b""):
    """Reads up to and including `wanted`, or to the end of the file."""
    until = time.monotonic() + PATIENCE
    while wanted is None or wanted not in have:
        left = until - time.monotonic()
        if left <= 0 or not select.select([fd], [], [], left)[0]:
            raise AssertionError(f"{wanted!r} did not come; this did: {have!r}")
        try:
            piece = os.read(fd, 65536)
        except OSError:  # the other side of the terminal has closed
            piece = b""
        if not piece:
            break
        have += piece
    return have


class Terminal:
    """A program with a terminal as stdout, and as stdin too unless another is given."""

    def __init__(self, *command, env=None, stdin=None):
        self.fd, side = pty.openpty()
        self.process = subprocess.Popen(
            command, stdin=side if stdin is None else stdin, stdout=side, stderr=side,
            env=environment(TERM="xterm") if env is None else env, start_new_session=True,
            preexec_fn=lambda: __import__("fcntl").ioctl(1, __import__("termios").TIOCSCTTY, 0))
        os.close(side)
        self.seen = b""

    def wait_for(self, wanted):
        self.seen = read_until(self.fd, wanted, self.seen)
        return self.seen

    def type(self, text):
        os.write(self.fd, text)

    def end(self):
        """All output, and the exit code."""
        self.seen = read_until(self.fd, None, self.seen)
        code = self.process.wait(PATIENCE)
        os.close(self.fd)
        return self.seen, code


def in_terminal(*args, stdin=b"", env=None):
    """Runs the command with a terminal as stdout and the bytes as stdin."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as feeder:
        terminal = Terminal(BINARY, *args, env=env, stdin=feeder.stdout)
        feeder.stdout.close()
        feeder.stdin.write(stdin)
        feeder.stdin.close()
        seen, code = terminal.end()
    return Done(code, seen.replace(b"\r\n", b"\n"), "")


class Case(unittest.TestCase):
    maxDiff = 4000

    def good(self, done, out=None, err=""):
        """Checks that it succeeded with this output and this stderr."""
        self.assertEqual((done.code, done.err), (0, err))
        if out is not None:
            self.assertEqual(done.out, out.encode() if isinstance(out, str) else out)
        return done.out

    def bad(self, done, code, *words):
        """Checks that it failed with this code and one line that has these words."""
        self.assertEqual(done.code, code, done)
        self.assertTrue(done.err.startswith("rationale: ") and done.err.endswith("\n"), done.err)
        self.assertEqual(done.err.count("\n"), 1, done.err)
        for word in words:
            self.assertIn(word, done.err)


def main():
    loader = unittest.defaultTestLoader
    module = sys.modules["__main__"]
    names = sys.argv[3:]
    suite = loader.loadTestsFromNames(names, module) if names else \
        loader.loadTestsFromModule(module)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=1).run(suite)
    # A test with several failed subtests counts as one.
    lost = len({getattr(t, "test_case", t).id() for t, _ in result.failures + result.errors})
    for test, why in result.skipped:
        print(f"not tried: {test.id().split('.')[-1]}: {why}")
    print(f"[  PASSED  ] {result.testsRun - lost - len(result.skipped)} test(s).")
    if lost:
        print(f"[  FAILED  ] {lost} test(s).")
    sys.exit(1 if lost or not result.testsRun else 0)
