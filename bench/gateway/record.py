"""record.py - what the record costs: the parts of tools/bench-gateway that have a bar of its own.

A call is a question of 400 bytes and a reply of 2,000 bytes (or 16,000) of varied prose
(bench/gateway/prose.h). CPU is counted until the tables have caught up: GET /health reports no
pending record, and the process is idle.

SPDX-License-Identifier: Apache-2.0
"""
import http.client
import json
import re
import statistics
import time

from servers import KEY, Gateway, Postgres, cpu_ns, rss_kb

TURNS = 60
WAIT_S = 5  # journal.wait
GROWTH_MAX = 0.02  # of the calls offered: a backlog that grows by less is noise


class RecordParts:
    """For Bench, which has load(), measured(), note(), the stub and the figures."""

    def fresh(self, name, **more):
        """A gateway with an empty store."""
        folder = self.temp / f"{name}.{time.monotonic_ns()}"
        return Gateway(self.build, "sqlite" if "store" not in more else name, folder,
                       self.stub.port, **more)

    # ---- in turn with nginx ----

    def recorded(self, t):
        """Whole CPU a call."""
        for model, name in (("prose", "2 kB"), ("large", "16 kB")):
            said, cpu_us = self.measured(t, "closed", model, 64, self.seconds / 2)
            self.note(t.name, f"{name} of prose, CPU us/call", cpu_us / said["requests"])

    def durable(self, t):
        """Latency at a rate that everybody bears."""
        said, _ = self.measured(t, "rate", "prose", 32, 2 * self.seconds, 1000)
        for p in ("p50", "p99"):
            self.note(t.name, f"prose at 1,000 calls/s, {p} us", said[f"latency_{p}_us"])

    # ---- each in processes of its own ----

    def offered(self, t, rate, seconds):
        """Calls a second that were answered, and whether the backlog stayed as it was."""
        p = self.load_start(t.port, "rate", "prose", 128, seconds, rate)
        time.sleep(seconds / 2)
        half = t.health()["pending_records"]
        time.sleep(max(0.0, seconds / 2 - 0.3))
        end = t.health()["pending_records"]
        out, _ = p.communicate(timeout=60)
        said = json.loads(out.splitlines()[-1])
        per_s = said["requests"] / said["seconds"]
        steady = end - half <= GROWTH_MAX * rate * seconds / 2 + 500
        if self.o.verbose:
            print(f"offered {rate:.0f}/s for {seconds} s: {per_s:.0f}/s, pending {half}, {end}")
        return per_s, steady and p.returncode == 0

    def sustained(self):
        """The highest rate at which the backlog does not grow, all of the gateway on one core."""
        probe, seconds = (4, 10) if self.o.quick else (10, 60)
        nginx, t = self.target("nginx", "sustained"), self.fresh("sustained")
        try:
            said, cpu_us = self.measured(t, "closed", "prose", 64, 1)
            rate = 1.1e6 / (cpu_us / said["requests"])
            length, peers = probe, []
            for _ in range(12):
                peer, _ = self.load(nginx.port, "closed", "prose", 64, 2)
                peers.append(peer["requests"] / peer["seconds"])
                per_s, steady = self.offered(t, rate, length)
                t.settle()
                if not steady or per_s < 0.95 * rate:
                    rate = max(0.8 * rate, min(0.95 * rate, per_s))
                elif length == seconds:
                    figure = f"sustained for {seconds} s, recorded calls/s"
                    self.note("nginx", figure, statistics.median(peers))
                    self.note("sqlite", figure, per_s)
                    return
                else:
                    length = seconds
            print("sustained: no rate was found at which the backlog stays")
        finally:
            nginx.stop()
            t.stop()

    def disk(self):
        t = self.fresh("disk")
        try:
            said, _ = self.measured(t, "closed", "prose", 64, 2 if self.o.quick else 10)
        finally:
            t.stop()
        self.note("sqlite", "disk a call of 2.4 kB, kB", t.disk() / said["requests"] / 1e3)

    def talk(self, t, turns):
        """One client, which sends the whole conversation each time."""
        c = http.client.HTTPConnection("127.0.0.1", t.port, timeout=60)
        messages = [{"role": "system", "content": "You look after old harbours. Be brief."}]
        size = 0
        for n in range(turns):
            asked = f"{self.question(n)} #n{n:08d} "
            messages.append({"role": "user", "content": asked})
            c.request("POST", "/v1/chat/completions",
                      json.dumps({"model": "turn", "messages": messages}),
                      {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json",
                       "X-Rationale-Reasoning": "show"})
            reply = c.getresponse()
            body = json.loads(reply.read())
            assert reply.status == 200, body
            said = body["choices"][0]["message"]
            messages.append({"role": "assistant", "content": said["content"]})
            size += len(asked) + len(said["content"]) + len(said.get("reasoning_content") or "")
        c.close()
        return size

    def question(self, n):
        """266 bytes that differ from turn to turn."""
        words = [f"{'abcdefghij'[(n * 7 + i * i) % 10]}{'aeiou'[(n + i) % 5]}{'lmnrst'[i % 6]}"
                 f"{(n * 31 + i * 17) % 97}" for i in range(60)]
        return " ".join(words)[:250]

    def conversation(self):
        """Bytes in use beyond those of an empty store, whose free pages would hide a short
        conversation. The open block is not packed yet, so that one may be larger than its share."""
        size = {}
        for turns in (0, TURNS // 2, TURNS, 4 * TURNS, 8 * TURNS):
            t = self.fresh("talk")
            try:
                text = self.talk(t, turns)
                t.settle()
            finally:
                t.stop()
            size[turns] = t.used() - size.get(0, 0)
            if turns:
                self.note("sqlite", f"text of {turns} turns, MB", text / 1e6)
                self.note("sqlite", f"disk of {turns} turns, MB", size[turns] / 1e6)

    def postgres(self):
        """CPU of the server's processes a call, less what they use without calls."""
        server = Postgres()
        try:
            if not server.url:
                print("postgres: skipped: PostgreSQL is not installed")
                return
            t = self.fresh("postgres", store=server.url)
            try:
                self.load(t.port, "closed", "prose", 64, 0.5)
                t.settle()
                idle_ns, idle_s = server.cpu_ns(), time.monotonic()
                time.sleep(2)
                idle = (server.cpu_ns() - idle_ns) / (time.monotonic() - idle_s)
                before, own, began = server.cpu_ns(), cpu_ns(t.process.pid), time.monotonic()
                said, _ = self.load(t.port, "closed", "prose", 64, 2 if self.o.quick else 10)
                t.settle()
                used = server.cpu_ns() - before - idle * (time.monotonic() - began)
                own = cpu_ns(t.process.pid) - own
            finally:
                t.stop()
        finally:
            server.stop()
        self.note("postgres", "PostgreSQL server CPU us/call", used / 1e3 / said["requests"])
        self.note("postgres", "2 kB of prose, CPU us/call", own / 1e3 / said["requests"])

    def overload(self):
        """More calls than the tables take in: what clients, memory and health report."""
        seconds = self.o.overload or (20 if self.o.quick else 600)
        most = "64MiB" if seconds < 120 else "1GiB"
        t = self.fresh("overload", settings=f"journal: {{max: {most}, wait: {WAIT_S}s}}")
        memory, words, pending, waiting, age = [], {}, 0, 0, 0
        try:
            p = self.load_start(t.port, "outage", "prose", 512, seconds, "/dev/null", WAIT_S)
            while p.poll() is None:
                memory.append(rss_kb(t.process.pid)["VmRSS"] / 1024)
                said = t.health()
                word = re.sub(r"\d+", "N", f"{said['status']} {said['message']}").strip()
                words[word] = words.get(word, 0) + 1
                pending = max(pending, said["pending_records"])
                waiting = max(waiting, said["pending_bytes"])
                age = max(age, said["pending_seconds"])
                time.sleep(1)
            load = json.loads(p.stdout.read().splitlines()[-1])
            t.settle()
        finally:
            t.stop()
        memory = memory[1:]
        third = max(1, len(memory) // 3)
        marks = [max(memory[i:i + third]) for i in (0, third, len(memory) - third)]
        print(f"\noverload for {seconds} s, journal.max {most}, journal.wait {WAIT_S}s")
        print(f"    calls: {load['requests']:,}, of these 503: {load['refused']:,}, "
              f"503 before the wait was over: {load['refused_early']:,}, errors: {load['errors']:,}")
        print(f"    latency: p50 {load['latency_p50_us'] / 1e3:.0f} ms, "
              f"p99 {load['latency_p99_us'] / 1e3:.0f} ms")
        print("    memory, largest of each third: " + ", ".join(f"{m:.0f} MB" for m in marks))
        print(f"    backlog at most: {pending:,} records, {waiting / 1e6:.0f} MB, {age} s")
        for word, count in words.items():
            print(f"    health, {count} times: {word}")
        self.note("sqlite", "overload, 503 before the wait", load["refused_early"] + load["errors"])
        self.note("sqlite", "overload, memory at the end : middle", marks[2] / marks[1])

    # ---- bars ----

    def record_rows(self, median, ratio):
        at = "prose at 1,000 calls/s, p99 us"
        pairs = zip(self.figures.get(at, {}).get("sqlite", []), self.figures.get(at, {}).get("nginx", []))
        added = sorted((s - n) / 1e3 for s, n in pairs)
        turns = {n: median(f"disk of {n} turns, MB", "sqlite") for n in (30, 60, 240, 480)}
        sustained = next((f for f in self.figures if f.startswith("sustained for")), "")
        return [("2 kB of prose, whole CPU : nginx", ratio("2 kB of prose, CPU us/call", "sqlite"), "3"),
                ("16 kB of prose, whole CPU : nginx", ratio("16 kB of prose, CPU us/call", "sqlite"), "10"),
                (f"{sustained or 'sustained'} : nginx", ratio(sustained, "sqlite"), "0.3"),
                ("disk a call of 2.4 kB, kB", median("disk a call of 2.4 kB, kB", "sqlite"), "1.8"),
                ("disk of a conversation of 60 turns, MB", turns[60], "0.15"),
                ("60 turns : 30 turns", turns[60] / turns[30] if turns[30] else None, "2"),
                ("480 turns : 240 turns", turns[480] / turns[240] if turns[240] else None, "2"),
                ("p99 added at 1,000 durable calls/s, ms", added[len(added) // 2] if added else None, "2"),
                ("PostgreSQL server, CPU us a call", median("PostgreSQL server CPU us/call", "postgres"), "120"),
                ("503 before the bounded wait", median("overload, 503 before the wait", "sqlite"), "0"),
                ("overload, memory at the end : middle", median("overload, memory at the end : middle", "sqlite"), "1")]
