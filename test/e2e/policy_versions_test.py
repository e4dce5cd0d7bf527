#!/usr/bin/env python3
"""Versions of policies, reverified cases, criteria and facts from a model, and the review queue.

    test/e2e/policy_versions_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
    tools/postgres-run test/e2e/policy_versions_test.py BINARY SOURCE_ROOT

On SQLite, or on PostgreSQL under tools/postgres-run.
"""
# SPDX-License-Identifier: Apache-2.0
import concurrent.futures
import json
import os
import signal
import subprocess
import sys
import time
import unittest
import urllib.parse

from command import BINARY, run
from gateway import Gateway, digest
from policy_test import GOOD, Case, Model, call, docx, field, finish, pdf, search

SERVER = os.environ.get("RATIONALE_TEST_POSTGRES", "")
KEYS = [{"name": "user", "sha256": digest("ku")},
        {"name": "olga", "sha256": digest("ko"), "role": "operator"}]
SECRET = "sk-proj-" + "a1B2c3D4e5F6g7H8" * 3


def policy(version, start, end, age):
    dates = "".join(f"{name}: {day}\n" for name, day in (("effective_from", start), ("effective_to", end)) if day)
    return (f"---\ntitle: Plan\nversion: \"{version}\"\n{dates}---\n# Coverage\n\n<!-- page 1 -->\n## Age\n\n"
            f"The patient must be {age} years of age or older.\n\n<!-- page 2 -->\n## Referral\n\n"
            "A referral is required. A naïve posture is required.\n")


# Three versions; the first two have ended, the third applies.
FILES = {"v1.md": policy("1", "2020-01-01", "2020-12-31", 18), "v2.md": policy("2", "2021-01-01", "2022-12-31", 21),
         "v3.md": policy("3", "2023-01-01", "", 25)}


def case(name="case-1", age=20, criteria=("age",), **metadata):
    return {"case_id": name, "policy_id": "plan", "fields": [field("age", age)],
            "metadata": {"policy_document_id": "plan", **({"criteria": list(criteria)} if criteria else {}), **metadata}}


class Plan(Case):
    def start(self, turns=GOOD, files=None, keys=None, store=None, documents=None, **more):
        self.model = Model(turns)
        self.addCleanup(self.model.close)
        files = FILES if files is None else files
        config = {"providers": {"m": {"kind": "openai", "base_url": f"http://127.0.0.1:{self.model.port}/v1",
                                      "models": ["scripted"], "retries": 0, "backoff": "10ms"}},
                  "policy": {"documents": documents or {"plan": list(files)}, "search": "bm25", **more}}
        if keys:
            config["keys"] = keys
        if SERVER and store is None:
            name = self.id().rsplit(".", 1)[1][:60]
            subprocess.run(["psql", SERVER.replace("%s", "postgres"), "-Atqc", f'CREATE DATABASE "{name}"'],
                           check=True, capture_output=True)
            store = SERVER.replace("%s", name)
        if store:
            config["store"] = store
        self.gateway = Gateway(BINARY, config)
        if SERVER:
            self.gateway.config["spool"] = str(self.gateway.folder / "spool")
        for name, text in files.items():
            (self.gateway.folder / name).write_text(text)
        self.gateway.start()
        self.addCleanup(self.gateway.stop)

    def get(self, path, status=200, key=None, **query):
        text = urllib.parse.urlencode(query)
        got, doc = self.ask("GET", f"/api/v1/policy/{path}{'?' + text if text else ''}", key=key)
        self.assertEqual(got, status, doc)
        return doc

    def post(self, path, body, status=200, key=None):
        got, doc = self.ask("POST", f"/api/v1/policy/{path}", body, key=key)
        self.assertEqual(got, status, doc)
        return doc

    def cli(self, *args, code=0):
        done = run("policy", *args, "--config", str(self.gateway.path))
        self.assertEqual(done.code, code, done.err + done.out.decode())
        return done


class Versions(Plan):
    def test_a_case_gets_the_version_it_names_or_is_refused(self):
        self.start()
        rows = [  # metadata, version, status at age 20; or the error
            ({}, "3", "missing"), ({"policy_version_id": "1"}, "1", "met"),
            ({"policy_version_id": "2"}, "2", "missing"), ({"as_of_date": "2020-06-30"}, "1", "met"),
            ({"as_of_date": "2020-12-31"}, "1", "met"), ({"as_of_date": "2021-01-01"}, "2", "missing"),
            ({"as_of_date": "2022-12-31", "policy_version_id": "2"}, "2", "missing"),
        ]
        for more, version, status in rows:
            with self.subTest(**more):
                doc = self.review(case(**more))
                self.assertEqual(doc["policy_version_used"], version)
                self.assertEqual(doc["results"][0]["status"], status)
                self.assertEqual(doc["results"][0]["citation"]["version"], version)
                kept = self.get("results", limit=1)["results"][0]
                self.assertEqual((kept["policy_document_id"], kept["policy_version"]), ("plan", version))
        for more, name, words in [
                ({"policy_version_id": "4"}, "policy_version_id", ["no version \"4\"", "1 (2020-01-01 to 2020-12-31)", "3 (from 2023-01-01)"]),
                ({"as_of_date": "2019-01-01"}, "as_of_date", ["no version", "in force on 2019-01-01", "2 (2021-01-01 to 2022-12-31)"]),
                ({"as_of_date": "2020-01-01", "policy_version_id": "2"}, "as_of_date", ["version \"2\"", "was not in force on 2020-01-01"]),
                ({"as_of_date": "2021-02-29"}, "as_of_date", ["no day", "YYYY-MM-DD"]),
                ({"as_of_date": "soon"}, "as_of_date", ["no day"])]:
            with self.subTest(refused=more):
                detail = self.review(case(**more), 422)["detail"]
                self.assertEqual(detail["field"], "case_bundle.metadata." + name)
                for w in words:
                    self.assertIn(w, detail["message"])
        self.assertEqual(len(self.get("results")["results"]), len(rows), "a refusal leaves no result")

    def test_documents_show_their_versions(self):
        self.start()
        docs = self.get("documents")["documents"]
        self.assertEqual([(d["version"], d["effective_from"], d["effective_to"], d["in_force"]) for d in docs],
                         [("1", "2020-01-01", "2020-12-31", False), ("2", "2021-01-01", "2022-12-31", False),
                          ("3", "2023-01-01", None, True)])
        self.assertIn("25 years", self.get("documents/plan/nodes/0002")["text"])
        self.assertIn("18 years", self.get("documents/plan/nodes/0002", version="1")["text"])
        self.assertIn("no version", self.get("documents/plan/nodes/0002", 404, version="9")["detail"]["message"])
        out = self.cli("versions").out.decode()
        self.assertRegex(out, r"plan +3 +2023-01-01 +- +yes")

    def test_of_two_in_force_the_one_that_began_last_counts(self):
        self.start(files={"v2.md": policy("2", "2021-01-01", "", 21), "v3.md": FILES["v3.md"]})
        self.assertEqual([d["in_force"] for d in self.get("documents")["documents"]], [False, True])
        self.assertEqual(self.review(case())["policy_version_used"], "3")

    def test_no_version_in_force_today_is_refused(self):
        self.start(files={"v1.md": FILES["v1.md"]})
        detail = self.review(case(), 422)["detail"]
        self.assertIn("no version of \"plan\" is in force on 2", detail["message"])
        self.assertEqual(self.review(case(policy_version_id="1"))["policy_version_used"], "1")

    def test_bad_dates_and_names_of_versions_are_refused_at_the_start_and_by_config_check(self):
        for files, words in [
                ({"a.md": policy("1", "soon", "", 18)}, "effective_from: \"soon\" is no day"),
                ({"a.md": policy("1", "2021-02-30", "", 18)}, "is no day"),
                ({"a.md": policy("1", "2021-01-02", "2021-01-01", 18)}, "effective_from is after effective_to"),
                ({"a.md": policy("1", "2020-01-01", "", 18), "b.md": policy("1", "2021-01-01", "", 18)}, "two files have the version \"1\""),
                ({"a.md": policy("1", "2020-01-01", "", 18), "b.md": policy("2", "2020-01-01", "", 18)}, "begin on the same day")]:
            with self.subTest(words=words):
                g = Gateway(BINARY, {"providers": {"m": {"kind": "openai", "base_url": "http://127.0.0.1:9/v1", "models": ["x"]}}, "policy": {"documents": {"plan": list(files)}}})
                self.addCleanup(g.stop)
                for name, text in files.items():
                    (g.folder / name).write_text(text)
                g.write()
                for command in (["serve", "--listen", "127.0.0.1:0"], ["config", "check"]):
                    done = run(*command, "--config", str(g.path))
                    self.assertNotEqual(done.code, 0, command)
                    self.assertIn(words, done.err)
                    self.assertIn("policy.documents", done.err)

    def test_nobody_waits_while_documents_load(self):
        self.start()
        config = json.loads(json.dumps(self.gateway.config))
        slow = self.gateway.folder / "slow.md"
        os.mkfifo(slow)  # reading blocks until it is opened for writing
        config["policy"] |= {"documents": {"slow": "slow.md"}, "react_ab_test_ratio": 0.25}
        before = [d["id"] for d in self.ask("GET", "/api/v1/policy/documents")[1]["documents"]]
        self.gateway.reload(config)
        pool = concurrent.futures.ThreadPoolExecutor(2)
        self.addCleanup(pool.shutdown, wait=False)
        asked = []

        def opened():  # the pipe has a reader after the reload and a request
            asked.append(pool.submit(self.ask, "GET", "/api/v1/policy/documents"))
            time.sleep(0.2)
            try:
                return os.open(slow, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                self.assertEqual(asked.pop().result(60)[0], 200)
        pipe = self.until(opened)
        try:
            for _ in range(3):
                self.assertEqual([d["id"] for d in self.ask("GET", "/api/v1/policy/documents")[1]["documents"]], before)
                self.assertEqual(self.rollout()["configured"]["react_ab_test_ratio"], 0, "the switches are of the documents")
                self.review(case())
            self.assertFalse(asked[0].done())
            os.write(pipe, b"# Slow\n\nA referral is required.\n")
        finally:
            os.close(pipe)
        self.assertEqual([d["id"] for d in asked[0].result(60)[1]["documents"]], ["slow"])
        self.assertEqual(self.rollout()["configured"]["react_ab_test_ratio"], 0.25)

    def test_the_command_takes_a_version_too(self):
        folder = Gateway(BINARY, {}).folder
        (folder / "v1.md").write_text(FILES["v1.md"])
        (folder / "case.json").write_text(json.dumps(case()))
        done = run("verify", str(folder / "case.json"), "--policy", str(folder / "v1.md"))
        self.assertNotEqual(done.code, 0)
        self.assertIn("in force on", done.err)
        for more in (["--policy-version", "1"], ["--as-of", "2020-05-05"]):
            done = run("verify", str(folder / "case.json"), "--policy", str(folder / "v1.md"), *more)
            self.assertEqual(done.code, 0, done.err)
            self.assertIn("policy version 1", done.out.decode())


class Reverify(Plan):
    def finished(self, job):
        return self.until(lambda: (d := self.get(f"reverify/{job['id']}"))["status"] != "running" and d)

    def test_a_new_version_shows_what_flipped(self):
        self.start()
        for i in range(6):
            self.review(case(f"case-{i}", age=17 + i, policy_version_id="1"))
        job = self.post("reverify", {"document_id": "plan", "version": "2"}, 202)
        self.assertEqual(job["total"], 6)
        done = self.finished(job)
        self.assertEqual((done["status"], done["done"], done["failed"], done["flipped"]), ("done", 6, 0, 3), done)
        self.assertEqual(sorted(c["case_id"] for c in done["changes"]), ["case-1", "case-2", "case-3"])
        c = done["changes"][0]
        self.assertEqual((c["old"]["status"], c["old"]["version"], c["new"]["status"], c["new"]["version"]),
                         ("met", "1", "missing", "2"))
        self.assertEqual(c["new"]["section"], "Coverage > Age")
        self.assertIn("21 years", c["new"]["rationale"])
        self.assertIn("18 years", c["old"]["rationale"])
        self.assertEqual(self.get("reverify")["reverifications"][0]["id"], job["id"])
        # A second run to the same version compares the newest verdicts, so none flips.
        again = self.finished(self.post("reverify", {"document_id": "plan", "version": "2"}, 202))
        self.assertEqual((again["done"], again["flipped"]), (6, 0))
        done = self.cli("reverify", "plan", "--as-of", "2020-03-03", code=1)
        self.assertIn("missing (version 2) -> met (version 1)", done.out.decode())
        self.assertIn("6 cases, 6 criteria: 3 flipped, 0 failed", done.out.decode())

    def test_a_wrong_request_says_what_there_is(self):
        self.start(keys=KEYS)
        for body, words in [({}, "document_id"), ({"document_id": "knee"}, "no document \"knee\""),
                            ({"document_id": "plan", "version": "9"}, "no version \"9\""),
                            ({"document_id": "plan", "controller": "dice"}, "heuristic or react")]:
            self.assertIn(words, self.post("reverify", body, 422, "ko")["detail"]["message"])
        self.post("reverify", {"document_id": "plan"}, 403, "ku")
        self.get("reverify/none", 404, "ko")
        self.assertEqual(self.post("reverify", {"document_id": "plan"}, 202, "ko")["total"], 0)

    def test_a_case_that_cannot_be_verified_is_counted_and_named(self):
        self.start()
        self.review(case("case-1", policy_version_id="1"))
        self.review(case("case-2", policy_version_id="2"))
        done = self.finished(self.post("reverify", {"document_id": "plan"}, 202))
        self.assertEqual((done["done"], done["flipped"]), (2, 0), "each by the version it names")
        config = json.loads(json.dumps(self.gateway.config))
        config["policy"]["documents"]["plan"] = ["v1.md", "v3.md"]
        self.gateway.reload(config)
        self.until(lambda: len(self.get("documents")["documents"]) == 2)
        done = self.finished(self.post("reverify", {"document_id": "plan"}, 202))
        self.assertEqual((done["done"], done["failed"]), (2, 1))
        self.assertIn("no version \"2\"", done["changes"][0]["error"])

    def test_versions_under_ids_of_their_own_are_verified_again_together(self):
        self.start(files={"v1.md": FILES["v1.md"], "v2.md": FILES["v2.md"], "v3.md": FILES["v3.md"]},
                   documents={"plan@1": "v1.md", "plan@2": "v2.md", "plan": "v3.md", "planet": "v3.md"})
        for name, document in [("a", "plan@1"), ("b", "plan@2"), ("c", "plan"), ("d", "planet"), ("a", "plan@2")]:
            self.review(case(name, policy_document_id=document, policy_version_id={"plan@1": "1", "plan@2": "2"}.get(document, "3")))
        for document, total in [("plan", 3), ("PLAN", 3), ("plan@1", 1), ("plan@2", 2), ("planet", 1)]:
            with self.subTest(document=document):
                done = self.finished(self.post("reverify", {"document_id": document}, 202))
                self.assertEqual((done["total"], done["done"], done["failed"]), (total, total, 0), done)
        done = self.finished(self.post("reverify", {"document_id": "plan", "version": "1"}, 202))
        self.assertEqual((done["total"], done["failed"], done["flipped"]), (3, 0, 3), done)
        self.assertEqual({c["new"]["version"] for c in done["changes"]}, {"1"})

    def test_a_masked_case_stays_one(self):
        self.start()
        bundle = case(policy_version_id="1")
        bundle["fields"].append(field("name", f"the key is {SECRET}"))
        self.review(bundle)
        for version in ("2", "1", "2"):
            done = self.finished(self.post("reverify", {"document_id": "plan", "version": version}, 202))
            self.assertEqual([c["new"]["masked"] for c in done["changes"]], [True], version)

    def test_one_that_was_killed_goes_on(self):
        self.start(react_use_llm_controller=True)
        for i in range(4):
            self.review(case(f"case-{i}", policy_version_id="1"))
        asked = self.model.asked
        self.model.waits.clear()
        job = self.post("reverify", {"document_id": "plan", "version": "2"}, 202)
        self.assertEqual(self.post("reverify", {"document_id": "plan"}, 409)["detail"]["error"], "conflict")
        self.until(lambda: self.model.asked > asked)
        self.gateway.signal(signal.SIGKILL)
        self.gateway.child.wait(60)
        self.model.waits.set()
        self.gateway.start()
        done = self.finished(job)
        self.assertEqual((done["status"], done["total"], done["done"]), ("done", 4, 4), done)

    def test_it_can_be_cancelled(self):
        self.start(react_use_llm_controller=True)
        for i in range(3):
            self.review(case(f"case-{i}"))
        asked = self.model.asked
        self.model.waits.clear()
        job = self.post("reverify", {"document_id": "plan"}, 202)
        self.until(lambda: self.model.asked > asked)
        self.assertEqual(self.ask("DELETE", f"/api/v1/policy/reverify/{job['id']}")[0], 200)
        self.model.waits.set()
        done = self.finished(job)
        self.assertEqual(done["status"], "cancelled")
        self.assertLess(done["done"], 3)
        self.assertEqual(self.ask("DELETE", f"/api/v1/policy/reverify/{job['id']}")[0], 409)

    def test_one_that_was_cancelled_and_killed_stays_cancelled(self):
        self.start(react_use_llm_controller=True)
        for i in range(3):
            self.review(case(f"case-{i}"))
        asked = self.model.asked
        self.model.waits.clear()
        job = self.post("reverify", {"document_id": "plan"}, 202)
        self.until(lambda: self.model.asked > asked)
        status, shown = self.ask("DELETE", f"/api/v1/policy/reverify/{job['id']}")
        self.assertEqual((status, shown["status"]), (200, "cancelled"))
        self.gateway.signal(signal.SIGKILL)
        self.gateway.child.wait(60)
        self.model.waits.set()
        self.gateway.start()
        self.assertEqual(self.get(f"reverify/{job['id']}")["status"], "cancelled")
        done = self.finished(self.post("reverify", {"document_id": "plan"}, 202))
        self.assertEqual((done["status"], done["done"]), ("done", 3))


def says(**doc):
    return [json.dumps(doc)]


CRITERIA = says(criteria=[
    {"criterion_id": "minimum_age", "section": "0002", "quote": "The patient must be  25 years of age or older."},
    {"criterion_id": "referral", "section": "0002", "quote": "A referral is required."},
    {"criterion_id": "minimum_age", "section": "0002", "quote": "The patient must be 25 years of age or older."},
    {"criterion_id": "invented", "section": "0002", "quote": "The patient must be tall."}, {"quote": "x"}, 7])
NOTE = "Visit note — Zoë\n\n<!-- page 2 -->\nThe patient is 31 years old.\nPortal password: hunter2-Secret-99 \nReferral: yes\n"


class Extract(Plan):
    def test_criteria_are_proposed_with_their_sections(self):
        self.start(CRITERIA)
        doc = self.post("extract", {"kind": "criteria", "document_id": "plan"})
        self.assertEqual(doc["dropped"], {"quote_not_found": 1, "invalid": 2, "duplicate": 1, "over_the_limit": 0})
        age, referral = doc["proposals"]
        self.assertEqual((age["name"], age["state"], age["section"], age["page"], age["version"]),
                         ("minimum_age", "proposed", "Coverage > Age", 1, "3"))
        self.assertEqual((referral["section"], referral["page"]), ("Coverage > Referral", 2), "where the quote really is")
        for p in doc["proposals"]:
            text = self.get(f"documents/plan/nodes/{p['node_id']}")["text"]
            self.assertEqual(text[p["start"]:p["end"]], p["quote"])
        self.assertIn("[0002] Coverage > Age", self.model.bodies[0]["messages"][1]["content"])

    def test_nothing_unconfirmed_is_used(self):
        self.start(CRITERIA, keys=KEYS)
        self.post("extract", {"kind": "criteria", "document_id": "plan"}, 403, "ku")
        age, referral = self.post("extract", {"kind": "criteria", "document_id": "plan"}, key="ko")["proposals"]
        ids = lambda **m: [r["criterion_id"] for r in self.review(case(criteria=(), **m), key="ku")["results"]]
        self.assertEqual(ids(), ["plan:default"])
        self.post("proposals", {"ids": [age["id"]], "state": "confirmed"}, 403, "ku")
        got = self.post("proposals", {"ids": [age["id"]], "state": "confirmed"}, key="ko")["proposals"][0]
        self.assertEqual((got["state"], got["decided_by"]), ("confirmed", "olga"))
        self.assertRegex(got["decided_at"], r"^\d{4}-")
        self.post("proposals", {"ids": [referral["id"]], "state": "rejected", "reason": "no rule"}, key="ko")
        self.assertEqual(ids(), ["minimum_age"])
        self.assertEqual(ids(policy_version_id="1"), ["plan:default"], "confirmed for another version")
        self.assertEqual([r["criterion_id"] for r in self.review(case(), key="ku")["results"]], ["age"])
        self.assertEqual([p["name"] for p in self.get("proposals", key="ko", state="rejected")["proposals"]], ["referral"])
        for body, words in [({"ids": ["x"], "state": "confirmed"}, "no proposal \"x\""), ({"ids": [], "state": "confirmed"}, "ids"),
                            ({"ids": [age["id"]], "state": "perhaps"}, "confirmed or rejected")]:
            self.assertIn(words, self.post("proposals", body, 422, "ko")["detail"]["message"])
        log = self.until(lambda: (t := json.dumps(self.ask("GET", "/api/v1/audit?limit=100", key="ko")[1])).count("policy_proposal") >= 2 and t)
        self.assertIn("olga", log)

    def test_facts_of_pdf_and_docx_have_their_page(self):
        self.start(says(facts=[{"name": "minimum_age", "value": 18, "quote": "must be 18 or older"}]))
        for name, file in (("scan.pdf", pdf()), ("letter.docx", docx())):
            path = self.gateway.folder / name
            path.write_bytes(file)
            self.assertIn("1 proposed", self.cli("facts", "extract", str(path), "--case", name).out.decode())
            [fact] = self.get("proposals", case_id=name)["proposals"]
            self.assertEqual((fact["value"], fact["page"], fact["document_id"]), (18, 2, name))

    def test_facts_have_spans_and_become_a_case_once_confirmed(self):
        self.start(says(facts=[
            {"name": "age", "value": 31, "quote": "The patient is 31 years old.", "confidence": 0.97},
            {"name": "referral", "value": True, "quote": "Referral: yes"},
            {"name": "height", "value": 180, "quote": "is 180 cm tall"}, {"name": "empty", "value": None, "quote": "Referral"}]))
        note = self.gateway.folder / "note-7.md"
        note.write_text(NOTE)
        out = self.cli("facts", "extract", str(note), "--case", "case-7").out.decode()
        self.assertIn("2 proposed; dropped: 1 whose quote is not in the text, 1 invalid", out)
        age, referral = self.get("proposals", case_id="case-7")["proposals"]
        self.assertEqual((age["value"], age["page"], age["document_id"], age["confidence"]), (31, 2, "note-7.md", 0.97))
        for p in (age, referral):
            self.assertEqual(NOTE[p["start"]:p["end"]], p["quote"])
        self.get("proposals/case", 404, case_id="case-7", document_id="plan")
        self.cli("confirm", age["id"])
        bundle = json.loads(self.cli("facts", "case", "--case", "case-7", "--document", "plan").out)
        self.assertEqual([(f["field_name"], f["value"]) for f in bundle["fields"]], [("age", 31)])
        bundle["metadata"]["criteria"] = ["age"]
        r = self.review(bundle)["results"][0]
        self.assertEqual((r["status"], r["evidence"]["doc_id"], r["evidence"]["page"]), ("met", "note-7.md", 2))

    def test_secrets_do_not_reach_the_model_or_the_record(self):
        self.start(says(facts=[{"name": "key", "value": SECRET, "quote": f"key {SECRET}"},
                               {"name": "age", "value": 31, "quote": "31 years"}]))
        text = f"The key {SECRET} opens it. The patient is 31 years old.\n"
        doc = self.post("extract", {"kind": "facts", "case_id": "c", "doc_id": "d", "text": text})
        self.assertNotIn(SECRET, json.dumps(self.model.bodies))
        self.assertNotIn(SECRET, json.dumps(doc))
        self.assertNotIn(SECRET, json.dumps(self.get("proposals")))
        self.assertIn("[MASKED", json.dumps(self.get("proposals")))

    def test_bad_answers_are_told_in_clear_words(self):
        self.start(["no idea", "still none"])
        detail = self.post("extract", {"kind": "criteria", "document_id": "plan"}, 502)["detail"]
        self.assertIn("twice: there is no JSON object in it", detail["message"])
        self.assertEqual(self.model.asked, 2)
        self.assertIn("not the JSON object", self.model.bodies[1]["messages"][-1]["content"])
        self.model.turns = ["{\"criteria\": [{]}", CRITERIA[0]]
        self.assertEqual(len(self.post("extract", {"kind": "criteria", "document_id": "plan"})["proposals"]), 2, "the second try counts")
        self.model.turns = ["{\"rules\": []}"]
        self.assertIn("no list \"criteria\"", self.post("extract", {"kind": "criteria", "document_id": "plan"}, 502)["detail"]["message"])
        self.model.turns = [500]
        self.assertIn("could not be asked", self.post("extract", {"kind": "criteria", "document_id": "plan"}, 502)["detail"]["message"])
        self.assertEqual(len(self.get("proposals")["proposals"]), 2)

    def test_a_model_that_does_not_end_is_cut_off(self):
        self.start(CRITERIA)
        self.model.waits.clear()
        detail = self.post("extract", {"kind": "criteria", "document_id": "plan", "timeout_s": 1}, 502)["detail"]
        self.assertIn("did not end in 1 s", detail["message"])
        self.model.waits.set()

    def test_wrong_requests_name_the_member(self):
        self.start(CRITERIA)
        for body, words in [({}, "kind"), ({"kind": "poems"}, "criteria or facts"), ({"kind": "criteria"}, "document_id"),
                            ({"kind": "criteria", "document_id": "knee"}, "no document"),
                            ({"kind": "criteria", "document_id": "plan", "version": "9"}, "no version"),
                            ({"kind": "criteria", "document_id": "plan", "section": "Knees"}, "no section"),
                            ({"kind": "facts", "case_id": "c", "doc_id": "d"}, "text"),
                            ({"kind": "facts", "case_id": "c", "doc_id": "d", "text": " "}, "empty"),
                            ({"kind": "criteria", "document_id": "plan", "timeout_s": 0}, "timeout_s")]:
            with self.subTest(**body):
                self.assertIn(words, self.post("extract", body, 422)["detail"]["message"])
        self.assertEqual(self.model.asked, 0)
        (self.gateway.folder / "scan.bin").write_bytes(b"\x00\xff")
        self.assertIn("not text", self.cli("facts", "extract", str(self.gateway.folder / "scan.bin"), "--case", "c", code=2).err)
        self.cli("criteria", "extract", "plan", "--section", "Age")
        self.assertNotIn("Referral", self.model.bodies[0]["messages"][1]["content"])


class Queue(Plan):
    WRONG = [search(), [call("facts_get", field_name="age")], finish("met", confidence=0.95)]

    def test_disagreeing_and_uncertain_results_wait_with_their_sentence(self):
        self.start(self.WRONG, react_use_llm_controller=True)
        self.review(case("two-readers"))
        self.rollout(react_use_llm_controller=False)
        self.review(case("vague", criteria=["posture"]))
        self.review(case("clear", age=40))
        doc = self.get("review")
        self.assertEqual(([r["case_id"] for r in doc["results"]], doc["open"]), (["vague", "two-readers"], 2))
        only = self.get("review", reason="readers_disagree")["results"]
        self.assertEqual([r["case_id"] for r in only], ["two-readers"])
        item = self.get("review/item", result_id=only[0]["result_id"])
        self.assertEqual(item["result"]["readers"]["model"]["status"], "met")
        self.assertEqual((item["policy"]["version"], item["policy"]["page"]), ("3", 1))
        block = next(b for b in item["policy"]["blocks"] if b["start"] is not None)
        self.assertEqual(block["text"][block["start"]:block["end"]], "The patient must be 25 years of age or older.")
        self.assertEqual([(f["field_name"], f["value"], f["used"]) for f in item["facts"]], [("age", 20, True)])
        self.get("review/item", 404, result_id="none")

    def test_an_override_has_a_reason_a_name_and_a_time_and_is_audited(self):
        self.start(keys=KEYS)
        self.review(case("vague", criteria=["posture"]), key="ku")
        r = self.get("review", key="ku")["results"][0]
        word = {"result_id": r["result_id"], "status": "met", "reason": f"seen by eye, {SECRET}", "section": "Coverage > Referral"}
        self.post("review", word, 403, "ku")
        for change, words in [({"reason": " "}, "reason: is empty"), ({"status": "fine"}, "met, missing or uncertain"),
                              ({"reason": "x" * 2001}, "2000 bytes")]:
            self.assertIn(words, self.post("review", {**word, **change}, 422, "ko")["detail"]["message"])
        self.post("review", {**word, "result_id": "none"}, 404, "ko")
        got = self.post("review", word, key="ko")
        self.assertEqual((got["status"], got["review"]["status"], got["review"]["decided_by"]), ("uncertain", "met", "olga"))
        self.assertNotIn(SECRET, json.dumps(got))
        self.assertEqual(self.get("review", key="ko"), {"results": [], "open": 0})
        self.post("review", {**word, "status": "missing", "reason": "looked again"}, key="ko")
        done = self.get("review", key="ko", state="done")["results"][0]
        self.assertEqual((done["review"]["status"], done["review"]["reason"]), ("missing", "looked again"))
        item = self.get("review/item", key="ko", result_id=r["result_id"])
        self.assertEqual([v["status"] for v in item["reviews"]], ["missing", "met"])
        log = self.until(lambda: (t := json.dumps(self.ask("GET", "/api/v1/audit?limit=100", key="ko")[1])).count("policy_review") >= 2 and t)
        self.assertNotIn(SECRET, log)

    def test_a_newer_result_takes_the_place_of_the_old_one(self):
        self.start()
        for _ in range(2):
            self.review(case("vague", criteria=["posture"]))
        self.assertEqual(self.get("review")["open"], 1)

    def test_a_version_that_is_gone_is_said(self):
        self.start()
        self.review(case("vague", criteria=["posture"]))
        config = json.loads(json.dumps(self.gateway.config))
        config["policy"]["documents"]["plan"] = ["v1.md"]
        self.gateway.reload(config)
        self.until(lambda: len(self.get("documents")["documents"]) == 1)
        item = self.get("review/item", result_id=self.get("review")["results"][0]["result_id"])
        self.assertIsNone(item["policy"])
        self.assertIn("version \"3\" of \"plan\" is not configured any more", item["policy_absent"])

    def test_labels_are_cases_that_the_optimizer_reads(self):
        self.start()
        self.review(case("vague", criteria=["posture", "age"]))
        r = self.get("review")["results"][0]
        out = self.cli("review", r["result_id"], "--status", "met", "--reason", "seen").out.decode()
        self.assertIn("uncertain to met", out)
        self.assertIn("nothing waits", self.cli("review").out.decode())
        folder = self.gateway.folder / "labelled"
        self.assertIn("1 labelled case ", self.cli("labels", "--out", str(folder)).out.decode())
        made = json.loads(next(folder.glob("*.json")).read_text())
        self.assertEqual(made["expect"], [{"criterion_id": "posture", "status": "met"}])
        self.assertEqual(made["metadata"], {"policy_document_id": "plan", "policy_version_id": "3", "criteria": ["posture"]})
        self.assertEqual(made["fields"][0]["value"], 20)
        again = self.review(made)
        self.assertEqual([x["criterion_id"] for x in again["results"]], ["posture"])
        self.gateway.signal(signal.SIGTERM)
        self.gateway.child.wait(60)
        done = run("optimize", "--app", "policy", "--config", str(self.gateway.path), "--train", str(folder), "--val", str(folder),
                   "--budget", "1")
        self.assertIn("1 evaluation, 1 candidate,", done.out.decode())
        self.assertEqual(done.code, 0, done.err)

    def test_labels_come_in_pages(self):
        self.start()
        count = 130
        for i in range(count):
            doc = self.review(case(f"vague-{i}", criteria=["posture"]), options={"run_id": f"run-{i:03}"})
            self.assertEqual(doc["results"][0]["status"], "uncertain")
            self.post("review", {"result_id": f"run-{i:03}/0", "status": "missing", "reason": "seen"})
        page, seen = self.get("labels", limit=50), []
        while page["next_cursor"]:
            seen += [c["case_id"] for c in page["cases"]]
            page = self.get("labels", limit=50, cursor=page["next_cursor"])
        self.assertEqual((page["labels"], seen + [c["case_id"] for c in page["cases"]]), (30, [f"vague-{i}" for i in range(count)]))
        self.assertIn("limit", self.get("labels", 422, limit="0")["detail"]["message"])
        for cursor in ("abc", "run-001", "6c", "72756e2d3030317c7c"):
            self.assertIn("next_cursor", self.get("labels", 422, cursor=cursor)["detail"]["message"])
        folder = self.gateway.folder / "labelled"
        self.assertIn(f"{count} labelled case{'' if count == 1 else 's'} in", self.cli("labels", "--out", str(folder)).out.decode())
        self.assertEqual(len(list(folder.glob("*.json"))), count)
        self.assertEqual(len(self.cli("labels").out.splitlines()), count)

    def test_a_run_id_is_taken_once(self):
        self.start(keys=KEYS)
        options = {"run_id": "r-1"}
        first = self.review(case("mine"), key="ku", options=options)
        for bundle, key, words in [(case("mine"), "ko", "is taken by a run of another key"),
                                   (case("yours"), "ku", "is taken by another request")]:
            detail = self.review(bundle, 422, key, options=options)["detail"]
            self.assertEqual(detail["field"], "options.run_id")
            self.assertIn(words, detail["message"])
            self.assertIn("choose another", detail["message"])
        self.assertEqual(self.review(case("mine"), key="ku", options=options)["results"], first["results"])
        (self.gateway.folder / "v3.md").write_text(policy("3", "2023-01-01", "", 19))
        self.gateway.reload(self.gateway.config)
        self.until(lambda: "19 years" in self.get("documents/plan/nodes/0002", key="ko")["text"])
        self.assertIn("before the policy changed", self.review(case("mine"), 422, "ku", options=options)["detail"]["message"])
        self.assertEqual([r["case_id"] for r in self.get("results", key="ko")["results"]], ["mine"])

    def test_erasing_a_case_erases_all_of_it(self):
        self.start()
        self.review(case("erase-me", criteria=["posture"]))
        r = self.get("review")["results"][0]
        self.post("review", {"result_id": r["result_id"], "status": "met", "reason": "seen"})
        self.assertEqual(self.get("labels")["labels"], 1)
        got, doc = self.ask("POST", "/api/v1/erase", {"subject": "erase-me"})
        self.assertEqual(got, 200, doc)
        self.until(lambda: self.get("labels")["labels"] == 0)
        self.assertEqual(self.get("results")["results"], [])
        self.assertEqual(self.post("reverify", {"document_id": "plan"}, 202)["total"], 0)


class Here(Plan):
    """Without a daemon the command does the same itself."""

    def test_the_command_without_a_daemon(self):
        self.start()
        self.review(case("case-1", policy_version_id="1"))
        self.gateway.signal(signal.SIGTERM)
        self.gateway.child.wait(60)
        self.assertRegex(self.cli("versions").out.decode(), r"plan +1 ")
        out = self.cli("reverify", "plan", "--policy-version", "2", code=1).out.decode()
        self.assertIn("met (version 1) -> missing (version 2)", out)
        self.assertIn("policy knows no", self.cli("dance", code=2).err)
        self.assertIn("no document", self.cli("reverify", "knee", code=2).err)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
