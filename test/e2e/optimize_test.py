#!/usr/bin/env python3
"""Optimisation runs compared with a reference implementation: plain Python, with Python's random
numbers, on generated problems. And runs that are killed.

    test/e2e/optimize_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import copy
import json
import os
import random
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from command import BINARY, PATIENCE, SOURCE, Case, environment, main, run

CORPORA = Path(os.environ.get("RATIONALE_CORPORA", SOURCE / "../shared/corpora")) / "gepa"


# ---- the reference implementation ----

class Evaluator:
    def __init__(self, problem):
        self.p = problem
        self.asked = 0

    def words(self, texts, component):
        return [w for w in texts[component].split(" ") if w]

    def has(self, texts, pair):
        return pair[1] in self.words(texts, pair[0])

    def examples(self, split):
        return self.p["train"] if self.p["val"] == "train" else self.p[split]

    def grade(self, texts, split, number):
        x, unit = self.examples(split)[number], self.p["unit"]
        u = dict(x["base"])
        for sign, rules in ((1, x["needs"]), (-1, x["hurts"])):
            for r in rules:
                if self.has(texts, (r["component"], r["word"])):
                    u[r["objective"]] += sign * r["weight"]
        for c in self.p["conflicts"]:
            if c["objective"] in u and self.has(texts, c["a"]) and self.has(texts, c["b"]) \
                    and not (c["unless"] and self.has(texts, c["unless"])):
                u[c["objective"]] -= c["cost"]
        length = self.p["length"]
        if length and length["objective"] in u:
            for name in texts:
                beyond = max(0, len(self.words(texts, name)) - length["limit"])
                u[length["objective"]] -= beyond * length["cost"]
        u = {k: min(max(u[k], 0), unit) for k in x["objectives"]}
        share = {o["name"]: o["share"] for o in self.p["objectives"]}
        score = sum(share[k] * v for k, v in u.items()) / (unit * sum(share[k] for k in u))
        return score, {k: v / unit for k, v in u.items()} if self.p["report_objectives"] else {}

    def reflect(self, component, texts, ids):
        r, text = self.p["reflector"], texts[component]
        key = "/".join([r["salt"], component, text, ",".join(map(str, ids))])
        if r["counter"]:
            key += f"/{self.asked}"
        self.asked += 1
        h = 2166136261
        for byte in key.encode():
            h = (h ^ byte) * 16777619 % 2**32
        action, g = r["actions"][h % len(r["actions"])], h // len(r["actions"])
        have = self.words(texts, component)
        unmet, blamed = [], []
        for i in ids:
            x = self.examples("train")[i]
            unmet += [n["word"] for n in x["needs"] if n["component"] == component
                      and n["word"] not in have and n["word"] not in unmet]
            blamed += [n["word"] for n in x["hurts"] if n["component"] == component
                       and n["word"] in have[1:]]
        unmet = list(dict.fromkeys(unmet))
        if action == "none":
            return None
        if action == "echo":
            return text
        if action == "noise":
            word = r["noise"][g % len(r["noise"])]
            return None if word in have else " ".join([*have, word])
        if action == "drop":
            if len(have) < 2:
                return None
            have.pop(1 + g % (len(have) - 1))
            return " ".join(have)
        if action == "cut" and blamed:
            have.pop(have.index(blamed[0], 1))
            return " ".join(have)
        if not unmet:
            return None
        if action == "swap" and len(have) >= 2:
            have.pop()
        return " ".join(have + (unmet if action == "add_all" else unmet[:1]))


def number(v):
    if isinstance(v, bool) or v is None or isinstance(v, (str, int)):
        return v
    return int(v) if v == int(v) else v


def plain(v):
    if isinstance(v, dict):
        return {k: plain(x) for k, x in v.items()}
    if isinstance(v, (list, tuple)):
        return [plain(x) for x in v]
    return number(v)


class Model:
    """The run, rule by rule, without optimisation for speed."""

    def __init__(self, problem, settings, seed):
        self.p, self.s, self.seed = problem, settings, seed
        self.e, self.r = Evaluator(problem), random.Random(seed)
        self.names = [c["name"] for c in problem["components"]]
        self.val = self.e.examples("val")
        self.log, self.candidates, self.fronts = [], [], {}
        self.cache, self.formed, self.notes = {}, set(), set()
        self.calls = self.iteration = self.due = self.merged = 0
        self.found, self.order, self.epoch = False, None, 0

    def tell(self, event, **fields):
        self.log.append(json.dumps(plain({"event": event, **fields}), separators=(",", ":")))

    # -- evaluating --

    def evaluate(self, texts, split, ids, read=False):
        space = "train" if self.p["val"] == "train" else split
        keys = [(tuple(texts.values()), space, i) for i in ids]
        hit = [read and self.s["cache"] and k in self.cache for k in keys]
        grades = [self.e.grade(texts, split, i) for i in ids]
        self.calls += hit.count(False)
        self.cache.update(zip(keys, grades))
        return grades

    def mean(self, c):
        return sum(self.candidates[c]["scores"]) / len(self.val)

    def best(self):
        return max(range(len(self.candidates)), key=lambda c: (self.mean(c), -c))

    def add(self, texts, parents, grades):
        place = max([self.candidates[p]["place"] for p in parents], default=0)
        means = {}
        for _, objectives in grades:
            for k, v in objectives.items():
                means.setdefault(k, []).append(v)
        means = {k: sum(v) / len(v) for k, v in means.items()}
        c = len(self.candidates)
        self.candidates.append({"texts": texts, "parents": parents, "place": place,
                                "scores": [g[0] for g in grades], "means": means})
        kind, offers = self.s["frontier"], {}
        hybrid = kind == "hybrid"
        if kind in ("instance", "hybrid"):
            offers |= {("val:" if hybrid else "") + str(i): g[0] for i, g in enumerate(grades)}
        if kind in ("objective", "hybrid"):
            offers |= {("objective:" if hybrid else "") + k: v for k, v in means.items()}
        if kind == "cartesian":
            offers |= {f"{i}:{k}": v for i, g in enumerate(grades) for k, v in g[1].items()}
        for key, score in offers.items():
            best, held = self.fronts.get(key, (-1, []))
            self.fronts[key] = (score, [c]) if score > best else \
                (best, held + [c]) if score == best else (best, held)
        if parents:
            self.tell("front", iteration=self.iteration,
                      front=[[k, s, held] for k, (s, held) in self.fronts.items()])
        self.tell("valset", iteration=self.iteration, candidate=c, parents=parents,
                  scores=self.candidates[c]["scores"], objectives=means, mean=self.mean(c),
                  best=self.best() == c, calls=self.calls)
        return c

    # -- selecting --

    def reduced(self, only=None):
        sets = [[c for c in held if only is None or c in only] for _, held in self.fronts.values()]
        sets = [held for held in sets if held]
        order = list(dict.fromkeys(c for held in sets for c in held))
        order.sort(key=self.mean)
        alive, again = set(order), True
        while again:
            again = False
            for y in order:
                if y in alive and all(any(o in alive and o != y for o in held)
                                      for held in sets if y in held):
                    alive.remove(y)
                    again = True
                    break
        return [[c for c in held if c in alive] for held in sets]

    def draw(self, sets):
        flat = [c for held in sets for c in held]
        return self.r.choice([c for c in dict.fromkeys(flat) for _ in range(flat.count(c))])

    def select(self):
        kind = self.s["selection"]
        if kind == "pareto":
            return self.draw(self.reduced())
        if kind == "epsilon_greedy" and self.r.random() < 0.1:
            return self.r.randint(0, len(self.candidates) - 1)
        if kind == "top_k_pareto":
            top = sorted(range(len(self.candidates)), key=lambda c: (-self.mean(c), c))[:5]
            sets = self.reduced(set(top))
            return self.draw(sets) if sets else self.best()
        return self.best()

    def minibatch(self, given):
        b, n, i = self.s["minibatch"], len(self.p["train"]), self.iteration - 1
        if self.order is None or i * b // len(self.order) > self.epoch:
            self.epoch = 0 if self.order is None else i * b // len(self.order)
            ids = list(range(n))
            self.r.shuffle(ids)
            self.order = list(ids)
            while len(self.order) % b:
                least = min(self.order.count(x) for x in ids)
                self.order.append([x for x in ids if self.order.count(x) == least][-1])
        at = (i + given) * b % len(self.order)
        return self.order[at:at + b]

    # -- reflection --

    def reflection(self):
        it, tasks = {"iteration": self.iteration}, []
        for _ in range(self.s["parents"]):
            parent = self.select()
            for _ in range(self.s["batches"]):
                tasks.append({"parent": parent, "ids": self.minibatch(len(tasks))})
        for t in tasks:
            self.tell("selected", **it, candidate=t["parent"], mean=self.mean(t["parent"]))
            self.tell("minibatch", **it, ids=t["ids"])
        shared = {}
        for t in tasks:
            texts = self.candidates[t["parent"]]["texts"]
            key = (tuple(texts.values()), tuple(t["ids"]))
            if key not in shared:
                shared[key] = [g[0] for g in self.evaluate(texts, "train", t["ids"])]
            t["before"] = shared[key]
        for t in tasks:
            self.tell("parent_scores", **it, candidate=t["parent"], scores=t["before"])
        self.ask(tasks, it)
        children = [t for t in tasks if t.get("texts")]
        for t in children:
            t["after"] = [g[0] for g in self.evaluate(t["texts"], "train", t["ids"])]
            self.tell("child_scores", **it, parents=[t["parent"]], scores=t["after"])
        return self.keep(children, it)

    def ask(self, tasks, it):
        for t in tasks:
            c = self.candidates[t["parent"]]
            t["names"] = []
            if self.s["skip_perfect"] and all(s >= self.s["perfect_score"] for s in t["before"]):
                self.tell("skipped", **it, candidate=t["parent"])
                continue
            t["names"] = self.names
            if self.s["components"] == "round_robin":
                t["names"] = [self.names[c["place"]]]
                c["place"] = (c["place"] + 1) % len(self.names)
            self.tell("components", **it, names=t["names"])
        for t in tasks:
            texts = self.candidates[t["parent"]]["texts"]
            new = {n: self.e.reflect(n, texts, t["ids"]) for n in t["names"]}
            t["new"] = {n: x for n, x in new.items() if x is not None}
        for t in tasks:
            if t["new"]:
                self.tell("proposed", **it, texts=t["new"])
                t["texts"] = self.candidates[t["parent"]]["texts"] | t["new"]

    def keep(self, children, it):
        def gain(t):
            return sum(t["after"]) - sum(t["before"])
        passed = [t for t in children
                  if gain(t) > 0 or (self.s["acceptance"] == "or_equal" and gain(t) == 0)]
        kept = passed
        if self.s["keep"] != "all":
            kept = sorted(passed, key=gain, reverse=True)
            kept = kept[:1 if self.s["keep"] == "best" else self.s["keep"]]
        unique = []
        for t in kept:
            if all(t["texts"] != u["texts"] for u in unique):
                unique.append(t)
        for t in children:
            if not any(t is u for u in unique):
                reason = "not_better" if not any(t is x for x in passed) else \
                    "duplicate" if any(t is x for x in kept) else "not_kept"
                self.tell("rejected", **it, before=sum(t["before"]), after=sum(t["after"]),
                          reason=reason)
        for t in unique:
            grades = self.evaluate(t["texts"], "val", range(len(self.val)), read=True)
            c = self.add(t["texts"], [t["parent"]], grades)
            self.tell("accepted", **it, candidate=c, parents=[t["parent"]],
                      before=sum(t["before"]), after=sum(t["after"]))
            self.due += self.merged < self.s["max_merges"]
        return bool(unique)

    # -- merging --

    def ancestors(self, c):
        out = set()
        for p in self.candidates[c]["parents"]:
            out |= {p} | self.ancestors(p)
        return out

    def pair(self, pool):
        for _ in range(10):
            i, j = sorted(self.r.sample(pool, 2))
            if i in self.ancestors(j):
                continue
            ti, tj = self.candidates[i]["texts"], self.candidates[j]["texts"]
            fit = [a for a in sorted(self.ancestors(i) & self.ancestors(j))
                   if (i, j, a) not in self.formed
                   and self.mean(a) <= min(self.mean(i), self.mean(j))
                   and any(ti[n] != tj[n] and self.candidates[a]["texts"][n] in (ti[n], tj[n])
                           for n in self.names)]
            if fit:
                weights = [self.mean(a) for a in fit]
                if not any(weights):
                    return i, j, fit[self.r._randbelow(len(fit))]
                return i, j, self.r.choices(fit, weights)[0]
        return None

    def form(self):
        pool = sorted({c for held in self.reduced() for c in held})
        if len(pool) < 2 or len(self.candidates) < 3:
            return None
        for _ in range(10):
            found = self.pair(pool)
            if not found:
                continue
            i, j, a = found
            texts, notes = {}, []
            for n in self.names:
                x, y, z = (self.candidates[c]["texts"][n] for c in (i, j, a))
                if x != y and z in (x, y):
                    take = j if x == z else i
                elif x != z and y != z:
                    take = self.r.choice((i, j)) if self.mean(i) == self.mean(j) else \
                        max((i, j), key=self.mean)
                else:
                    take = i
                texts[n] = self.candidates[take]["texts"][n]
                notes.append(take)
            if (i, j, *notes) in self.notes or len(self.val) < self.s["merge_overlap"]:
                continue
            self.formed.add((i, j, a))
            self.notes.add((i, j, *notes))
            return i, j, a, texts
        return None

    def choose(self, i, j):
        si, sj = self.candidates[i]["scores"], self.candidates[j]["scores"]
        every, chosen = range(len(self.val)), []
        for test in (lambda x, y: x > y, lambda x, y: x < y, lambda x, y: x == y):
            ids = [v for v in every if test(si[v], sj[v])]
            k = min(len(ids), 2, 5 - len(chosen))
            if k:
                chosen += self.r.sample(ids, k)
        missing, left = 5 - len(chosen), [v for v in every if v not in chosen]
        if missing and len(left) >= missing:
            chosen += self.r.sample(left, missing)
        elif missing:
            chosen += self.r.choices(list(every), k=missing)
        return chosen

    def merge(self):
        it, formed = {"iteration": self.iteration}, self.form()
        if not formed:
            self.tell("merge_none", **it)
            return None
        i, j, a, texts = formed
        ids = self.choose(i, j)
        scores = [g[0] for g in self.evaluate(texts, "val", ids, read=True)]
        of = [[self.candidates[c]["scores"][v] for v in ids] for c in (i, j)]
        self.tell("merge", **it, parents=[i, j], ancestor=a, texts=texts, ids=ids,
                  parent_scores=of, scores=scores)
        before = [sum(x) for x in of]
        if sum(scores) < max(before):
            self.tell("merge_rejected", **it, parents=[i, j], before=before, after=sum(scores))
            return False
        grades = self.evaluate(texts, "val", range(len(self.val)), read=True)
        c = self.add(texts, [i, j], grades)
        self.tell("merge_accepted", **it, candidate=c, parents=[i, j], before=before,
                  after=sum(scores))
        self.due -= 1
        self.merged += 1
        return True

    # -- the loop --

    def run(self):
        self.tell("start", problem=self.p["name"], seed=self.seed, components=self.names,
                  train=len(self.p["train"]), val=len(self.val))
        seed = {c["name"]: c["seed"] for c in self.p["components"]}
        grades = self.evaluate(seed, "val", range(len(self.val)))
        self.add(seed, [], grades)
        stop, seen, stalled = self.s["stop"], None, 0
        while True:
            best = self.mean(self.best())
            seen, stalled = (best, 0) if seen is None or best > seen else (seen, stalled + 1)
            if self.calls >= stop["metric_calls"] \
                    or (stop["score"] is not None and best >= stop["score"]) \
                    or (stop["no_improvement"] is not None and stalled >= stop["no_improvement"]):
                break
            self.iteration += 1
            self.tell("iteration", iteration=self.iteration)
            found, self.found, merged = self.found, False, None
            if self.s["merge"] and self.due > 0 and found:
                merged = self.merge()
            accepted = merged
            if merged is None:
                accepted = self.found = self.reflection()
            self.tell("end", iteration=self.iteration, accepted=accepted, calls=self.calls)
        best = self.best()
        self.tell("finish", best=best, mean=self.mean(best), texts=self.candidates[best]["texts"],
                  candidates=len(self.candidates), iterations=self.iteration, calls=self.calls)
        return "".join(line + "\n" for line in self.log)


# ---- generated problems ----

def make_problem(r):
    names = [f"part{i}" for i in range(r.randint(1, 4))]
    words = [f"w{i}" for i in range(r.randint(3, 9))]
    objectives = [f"goal{i}" for i in range(r.choice([1, 2, 4]))]

    def rules(have, most):
        return [{"component": r.choice(names), "word": r.choice(words),
                 "weight": r.randint(1, 5), "objective": r.choice(have)}
                for _ in range(r.randint(0, most))]

    def example():
        have = r.sample(objectives, r.choice([n for n in (1, 2, 4) if n <= len(objectives)]))
        return {"objectives": have, "base": {k: r.randint(0, 3) for k in have},
                "needs": rules(have, 5), "hurts": rules(have, 3)}

    def word():
        return [r.choice(names), r.choice(words)]

    return {
        "format": "gepa-problem/1", "name": f"made {r.randint(0, 99)}",
        "unit": r.choice([1, 4, 8, 1024]),
        "components": [{"name": n, "seed": r.choice(["Go", "Say  it", "", "Do w0 w1", "\t\b\f\x01\"\\ w2"])}
                       for n in names],
        "objectives": [{"name": k, "share": 1} for k in objectives],
        "report_objectives": r.random() < 0.8,
        "length": r.choice([None, {"limit": r.randint(1, 5), "cost": 1,
                                   "objective": r.choice(objectives)}]),
        "conflicts": [{"a": word(), "b": word(), "cost": 1, "objective": r.choice(objectives),
                       "unless": r.choice([None, word()])} for _ in range(r.randint(0, 3))],
        "train": [example() for _ in range(r.randint(1, 12))],
        "val": r.choice(["train", [example() for _ in range(r.choice([1, 3, 6, 9, 25]))]]),
        "reflector": {"salt": "s", "counter": r.random() < 0.5, "noise": ["um", "w1"],
                      "actions": r.choices(["add", "add_all", "swap", "cut", "drop", "noise",
                                            "echo", "none"], k=r.randint(2, 9))},
    }


def make_run(r):
    problem = make_problem(r)
    frontiers = ["instance", "objective", "hybrid", "cartesian"]
    settings = {
        "selection": r.choice(["pareto", "pareto", "current_best", "epsilon_greedy",
                               "top_k_pareto"]),
        "frontier": r.choice(frontiers) if problem["report_objectives"] else "instance",
        "components": r.choice(["round_robin", "all"]), "minibatch": r.randint(1, 5),
        "acceptance": r.choice(["strict", "or_equal"]), "skip_perfect": r.random() < 0.5,
        "perfect_score": r.choice([1, 0.5]), "merge": r.random() < 0.7,
        "max_merges": r.randint(0, 6), "merge_overlap": r.choice([0, 5, 7]),
        "cache": r.random() < 0.5, "parents": r.randint(1, 3), "batches": r.randint(1, 3),
        "keep": r.choice(["all", "best", 1, 2]),
        "stop": {"metric_calls": r.randint(0, 400), "score": r.choice([None, None, 0.75]),
                 "no_improvement": r.choice([None, None, 4])},
    }
    seed = r.choice([r.randint(-9, 99), r.randint(2**31, 2**40), -r.randint(0, 2**100)])
    return {"format": "gepa-run/1", "problem": problem, "settings": settings, "seed": seed}


# ---- the tests ----

class Folder(Case):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, value, name="run.json"):
        path = self.folder / name
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        return str(path)


class Runs(Folder):
    def test_made_up_runs_equal_the_model(self):
        r, merges = random.Random(20), 0
        for n in range(400):
            made = make_run(r)
            want = Model(copy.deepcopy(made["problem"]), made["settings"], made["seed"]).run()
            got = self.good(run("optimize", "--reference", self.write(made))).decode()
            merges += got.count('"merge_accepted"')
            self.assertEqual(got.splitlines(), want.splitlines(), (n, json.dumps(made)))
        self.assertGreater(merges, 50)

    def test_the_model_equals_the_reference(self):
        if not CORPORA.is_dir():
            self.skipTest(f"no {CORPORA}")
        for path in sorted((CORPORA / "runs").glob("*.s0.json")):
            r = json.loads(path.read_text())
            problem = json.loads((path.parent / r["problem"]).read_text())
            want = (CORPORA / "logs" / f"{path.stem}.jsonl").read_text()
            self.assertEqual(Model(problem, r["settings"], r["seed"]).run(), want, path.stem)

    def test_a_problem_may_lie_in_a_file(self):
        made = make_run(random.Random(3))
        whole = self.good(run("optimize", "--reference", self.write(made)))
        (self.folder / "below").mkdir()
        self.write(made["problem"], "p.json")
        for where in ("../p.json", str(self.folder / "p.json")):
            made["problem"] = where
            path = self.write(made, "below/run.json")
            self.good(run("optimize", "--reference", path), whole)
            self.good(run("optimize", "--reference", "run.json", cwd=self.folder / "below"), whole)

    def test_seeds_of_any_size(self):
        made = make_run(random.Random(5))
        for seed in (0, -0, -7, 2**32 - 1, 2**32, 10**300, -10**300):
            made["seed"] = seed
            want = Model(copy.deepcopy(made["problem"]), made["settings"], seed).run()
            self.good(run("optimize", "--reference", self.write(made)), want)


class Killed(Folder):
    def test_killed_and_started_again_it_prints_the_same(self):
        r = random.Random(11)
        made = make_run(r)
        made["settings"] |= {"merge": True, "parents": 2, "batches": 2, "minibatch": 3,
                             "stop": {"metric_calls": 12000, "score": None,
                                      "no_improvement": None}}
        path = self.write(made)
        want = self.good(run("optimize", "--reference", path))
        kills = 0
        for n in range(40):
            command = [BINARY, "optimize", "--reference", path, "--run", str(self.folder / "kept")]
            with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  env=environment()) as process:
                time.sleep(0.002 + r.random() * 0.01)
                process.kill()
                self.assertEqual(process.stderr.read(), b"")
                kills += process.wait(PATIENCE) == -9
        self.assertGreater(kills, 0)
        self.good(run("optimize", "--reference", path, "--run", str(self.folder / "kept")), want)
        size = (self.folder / "kept/run.jsonl").stat().st_size
        self.good(run("optimize", "--reference", path, "--run", str(self.folder / "kept")), want)
        self.assertEqual((self.folder / "kept/run.jsonl").stat().st_size, size)

    def test_cut_at_any_byte_it_goes_on(self):
        made = make_run(random.Random(14))
        path, kept = self.write(made), self.folder / "kept"
        want = self.good(run("optimize", "--reference", path, "--run", str(kept)))
        whole = (kept / "run.jsonl").read_bytes()
        for size in random.Random(1).sample(range(len(whole)), 60):
            (kept / "run.jsonl").write_bytes(whole[:size])
            self.good(run("optimize", "--reference", path, "--run", str(kept)), want)
            self.assertEqual((kept / "run.jsonl").read_bytes(), whole)

    def test_another_run_is_not_gone_on_with(self):
        made = make_run(random.Random(14))
        kept = str(self.folder / "kept")
        self.good(run("optimize", "--reference", self.write(made), "--run", kept))
        made["settings"]["minibatch"] += 1
        self.bad(run("optimize", "--reference", self.write(made), "--run", kept), 1,
                 "started with another task or other settings")

    def test_a_kept_run_that_was_changed_is_refused(self):
        made = make_run(random.Random(14))
        path, kept = self.write(made), self.folder / "kept"
        self.good(run("optimize", "--reference", path, "--run", str(kept)))
        lines = (kept / "run.jsonl").read_text().splitlines()
        for n in (1, len(lines) // 2):
            changed = [*lines[:n], lines[n].replace("{", '{"x":1,', 1), *lines[n + 1:]]
            (kept / "run.jsonl").write_text("".join(line + "\n" for line in changed))
            done = run("optimize", "--reference", path, "--run", str(kept))
            self.bad(done, 1, f"line {n + 1}")


class Mistakes(Folder):
    def setUp(self):
        super().setUp()
        self.made = make_run(random.Random(3))
        self.made["problem"]["report_objectives"] = True

    def refused(self, path, value, *words):
        """Checks that a run with this value at the path (a list of keys; None removes the value) is
        refused."""
        made = copy.deepcopy(self.made)
        at = made
        for key in path[:-1]:
            at = at[key]
        if value is None:
            del at[path[-1]]
        else:
            at[path[-1]] = value
        self.bad(run("optimize", "--reference", self.write(made)), 1, "run.json: ", *words)

    def test_no_run(self):
        self.bad(run("optimize"), 2, "optimize needs --app NAME, or --reference FILE")
        self.bad(run("optimize", "--reference"), 2, "--reference needs a value")
        self.bad(run("optimize", "--reference", "no/such"), 1, "no/such")

    def test_no_json(self):
        self.bad(run("optimize", "--reference", self.write("{")), 1, "run.json: ", "line 1")
        self.bad(run("optimize", "--reference", self.write("[]")), 1, "must be an object, not []")

    def test_settings(self):
        for name in self.made["settings"]:
            self.refused(["settings", name], None, f'settings: has no "{name}"')
        for path, value, *words in (
                (["format"], "gepa-run/2", "format: must be one of gepa-run/1"),
                (["seed"], "0", "seed: must be a whole number"),
                (["seed"], 1.5, "seed: must be a whole number"),
                (["extra"], 1, 'has an unknown member "extra"'),
                (["settings", "extra"], 1, "settings: has an unknown member"),
                (["settings", "selection"], "best", "settings.selection: must be one of pareto,"),
                (["settings", "frontier"], 3, "settings.frontier: must be one of instance,"),
                (["settings", "minibatch"], 0, "settings.minibatch: must be a whole number, 1 to"),
                (["settings", "minibatch"], 1.0, "settings.minibatch: "),
                (["settings", "minibatch"], "three", 'not "three"'),
                (["settings", "skip_perfect"], 1, "settings.skip_perfect: must be true or false"),
                (["settings", "perfect_score"], "1", "settings.perfect_score: must be a number"),
                (["settings", "keep"], "some", "settings.keep: must be one of all, best"),
                (["settings", "keep"], 0, "settings.keep: must be a whole number"),
                (["settings", "stop", "metric_calls"], -1, "settings.stop.metric_calls: "),
                (["settings", "stop", "score"], "high", "settings.stop.score: "),
                (["settings", "stop", "more"], 1, "settings.stop: has an unknown member"),
                (["settings", "batches"], 1025, "settings.batches: "),
                (["problem"], 7, "problem: must be a path, or the problem itself"),
                (["problem"], "nowhere.json", "nowhere.json")):
            self.refused(path, value, *words)

    def test_problems(self):
        p = ["problem"]
        x = [*p, "train", 0]
        for name in self.made["problem"]:
            self.refused([*p, name], None, f'problem: has no "{name}"')
        rule = {"component": "part0", "word": "w", "weight": 1, "objective": "nothing"}
        for path, value, *words in (
                ([*p, "unit"], 3, "problem.unit: must be a power of two, not 3"),
                ([*p, "name"], "caf\u00e9", "problem.name: must be ASCII"),
                ([*p, "components"], [], "problem.components: has 0 elements"),
                ([*p, "components", 0, "seed"], 1, "problem.components[0].seed: must be a text"),
                ([*p, "components"], [{"name": "a", "seed": ""}] * 2,
                 "problem.components[1].name: another component has this name"),
                ([*p, "objectives", 0, "share"], -1, "problem.objectives[0].share: "),
                ([*p, "val"], "training", "problem.val: must be one of train"),
                ([*p, "val"], [], "problem.val: has 0 elements"),
                ([*p, "length"], {"limit": 1}, "problem.length: has no"),
                ([*p, "reflector", "actions"], ["jump"], "problem.reflector.actions[0]: must be"),
                ([*p, "reflector"], {"salt": "", "counter": False, "actions": ["noise"],
                                     "noise": []},
                 'problem.reflector.actions[0]: "noise" needs a word in noise'),
                ([*x, "needs"], [rule], "problem.train[0].needs[0].objective: no objective"),
                ([*x, "hurts"], [rule | {"component": "no"}], "hurts[0].component: no component"),
                ([*x, "base"], {}, "problem.train[0].base: has no"),
                ([*x, "objectives"], [], "problem.train[0].objectives: has 0 elements")):
            self.refused(path, value, *words)

    def test_a_frontier_that_needs_objectives(self):
        self.made["settings"]["frontier"] = "hybrid"
        self.refused(["problem", "report_objectives"], False,
                     "settings.frontier: this frontier needs a problem with report_objectives")

    def test_a_member_twice(self):
        text = json.dumps(self.made).replace('"seed": ', '"seed": 1, "seed": ', 1)
        made = run("optimize", "--reference", self.write(text))
        self.assertEqual(made.code, 1)
        self.assertIn("twice", made.err)

    def test_an_error_in_the_problem_file_names_it(self):
        self.made["problem"]["unit"] = 5
        self.write(self.made["problem"], "p.json")
        self.made["problem"] = "p.json"
        self.bad(run("optimize", "--reference", self.write(self.made)), 1,
                 "run.json: p.json: unit: must be a power of two")


if __name__ == "__main__":
    main()
