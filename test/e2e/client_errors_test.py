#!/usr/bin/env python3
"""Errors that clients can act on: each client gets an error of its own dialect, from any provider.

    test/e2e/client_errors_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import json
import threading

from asking import request, start
from command import BINARY
from gateway import BASES, Gateway, digest
from client_headers_test import KINDS, Case, stream_of

UPSTREAMS = (*KINDS, "mistral")

# Error types of Anthropic.
ANTHROPIC = {400: "invalid_request_error", 401: "authentication_error", 402: "billing_error",
             403: "permission_error", 404: "not_found_error", 408: "timeout_error",
             413: "request_too_large", 422: "invalid_request_error", 429: "rate_limit_error",
             500: "api_error", 502: "api_error", 503: "overloaded_error", 504: "timeout_error",
             529: "overloaded_error"}
GOOGLE = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 402: "FAILED_PRECONDITION",
          403: "PERMISSION_DENIED", 404: "NOT_FOUND", 408: "DEADLINE_EXCEEDED",
          413: "INVALID_ARGUMENT", 422: "INVALID_ARGUMENT", 429: "RESOURCE_EXHAUSTED",
          500: "INTERNAL", 502: "UNAVAILABLE", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
          529: "UNAVAILABLE"}
# OpenAI uses one type for most client errors; the code distinguishes them.
OPENAI_SAYS = {s: ("invalid_request_error" if s < 429 else "requests" if s == 429 else "server_error",
                   {401: "invalid_api_key", 404: "model_not_found",
                    429: "rate_limit_exceeded"}.get(s)) for s in ANTHROPIC}
# The codes that an OpenAI client gets for other providers' errors; one type stands for several.
OPENAI_CODES = {400: None, 401: "invalid_api_key", 402: "insufficient_quota", 403: None,
                404: "model_not_found", 408: None, 413: "request_too_large", 422: None,
                429: "rate_limit_exceeded", 500: None, 502: None, 503: None, 504: None, 529: None}
FOREIGN = ("api_error", "overloaded_error", "billing_error", "request_too_large")


def said_by(kind, status, message):
    if kind == "anthropic":
        return {"type": "error", "error": {"type": ANTHROPIC[status], "message": message},
                "request_id": "req_1"}
    if kind == "gemini":
        return {"error": {"code": status, "message": message, "status": GOOGLE[status]}}
    if kind == "ollama":
        return {"error": message}
    if kind == "mistral":
        return {"object": "error", "message": message, "type": "invalid_request_error",
                "param": None, "code": "1000"}
    type_, code = OPENAI_SAYS[status]
    return {"error": {"message": message, "type": type_, "param": None, "code": code}}


# Requests that are too long: dialect, status and error body; {u} tokens of {m}.
U, M = 205616, 200000
OVERFLOWS = [
    ("openai", 400, {"error": {
        "message": f"This model's maximum context length is {M} tokens. However, your messages "
                   f"resulted in {U} tokens. Please reduce the length of the messages.",
        "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"}}),
    ("responses", 400, {"error": {
        "message": "Your input exceeds the context window of this model. Please adjust your input "
                   "and try again.", "type": "invalid_request_error", "param": "input",
        "code": "context_length_exceeded"}}),
    ("anthropic", 400, {"type": "error", "error": {
        "type": "invalid_request_error",
        "message": f"prompt is too long: {U} tokens > {M} maximum"}, "request_id": "req_1"}),
    ("anthropic", 400, {"type": "error", "error": {
        "type": "invalid_request_error",
        "message": "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, "
                   "decrease input length or `max_tokens` and try again"}}),
    ("gemini", 400, {"error": {
        "code": 400, "status": "INVALID_ARGUMENT",
        "message": f"The input token count ({U}) exceeds the maximum number of tokens allowed "
                   f"({M})."}}),
    ("ollama", 400, {"error": "the input length exceeds the context length"}),
    ("ollama", 500, {"error": "prompt too long; exceeded max context length by 12 tokens"}),
    ("mistral", 400, {
        "object": "error", "message": f"Prompt contains {U} tokens and 0 draft tokens, too large for "
        f"model with {M} maximum context length", "type": "invalid_request_error", "param": None,
        "code": "3051"}),
    # Other hosts of OpenAI's dialect: vLLM, SGLang, llama.cpp, Groq, DeepSeek, OpenRouter, xAI,
    # Moonshot, and Bedrock behind a proxy.
    ("openai", 400, {"object": "error", "message":
                     f"This model's maximum context length is {M} tokens. However, you requested {U} "
                     "tokens in the messages.", "type": "BadRequestError", "param": None, "code": 400}),
    ("openai", 400, {"error": {"message": f"The decoder prompt (length {U}) is longer than the maximum "
                               f"model length of {M}.", "type": "BadRequestError", "code": 400}}),
    ("openai", 400, {"object": "error", "message": f"The input ({U} tokens) is longer than the model's "
                     f"context length ({M} tokens).", "type": "BadRequestError", "code": 400}),
    ("openai", 400, {"error": {
        "code": 400, "message": f"request ({U} tokens) exceeds the available context size ({M} tokens)"
        ", try increasing it", "type": "exceed_context_size_error", "n_prompt_tokens": U, "n_ctx": M}}),
    ("openai", 400, {"error": {"message": "Please reduce the length of the messages or completion.",
                               "type": "invalid_request_error", "param": "messages",
                               "code": "context_length_exceeded"}}),
    ("openai", 400, {"error": {"message": f"This model's maximum context length is {M} tokens. However,"
                               f" you requested {U} tokens.", "type": "invalid_request_error",
                               "param": None, "code": "invalid_request_error"}}),
    ("openai", 400, {"error": {"message": f"This endpoint's maximum context length is {M} tokens. "
                               f"However, you requested about {U} tokens (205000 of text input).",
                               "code": 400}}),
    ("openai", 400, {"error": f"This model's maximum prompt length is {M} but the request contains {U} "
                     "tokens.", "code": "Client specified an invalid argument"}),
    ("openai", 400, {"error": {"message": "Invalid request: Your request exceeded model token limit: "
                               f"{M}", "type": "invalid_request_error"}}),
    ("openai", 400, {"error": {"message": "Input is too long for requested model.", "code": 400}}),
    ("openai", 500, {"error": {"message": "Input is too long for requested model.", "code": 500}}),
    ("openai", 413, {"error": {"message": f"Input validation error: `inputs` must have less than {M} "
                               f"tokens. Given: {U}", "type": "validation"}}),
    ("openai", 400, {"error": {"message": f"Trying to keep the first {U} tokens when context the "
                               "overflows. However, the model is loaded with context length of only "
                               f"{M} tokens"}}),
    ("openai", 400, {"error": {"message": f"prompt token count of {U} exceeds the limit of {M}"}}),
    ("openai", 400, {"error": {"message": f"Requested input length {U} exceeds maximum input length "
                               f"{M}"}}),
    ("openai", 400, {"error": {"message": f"The sum of prompt length ({U}.0), query length (0) should "
                               f"not exceed max_num_tokens ({M})"}}),
]


class Errors(Case):
    """The upstream answers with `says`: a status and a body."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.up.answer = cls.answer

    @classmethod
    def answer(cls, path, body, status):
        del path, body, status
        return "application/json", json.dumps(cls.says).encode()

    def ask_for(self, client, kind, status, says, stream=False):
        type(self).says = says
        self.up.statuses = [status]
        r = self.ask(client, f"{kind}-m", stream)
        return r, json.loads(r.body)

    def check_words(self, client, status, doc):
        """Checks that the error is the one that clients of this dialect expect for the status."""
        if client == "ollama":
            self.assertEqual(doc, {"error": "too bad"})
            return
        error = doc["error"]
        self.assertEqual(error["message"], "too bad")
        if client == "anthropic":
            self.assertEqual((doc["type"], error["type"]), ("error", ANTHROPIC[status]))
        elif client == "gemini":
            self.assertEqual((error["code"], error["status"]), (status, GOOGLE[status]))
        else:
            self.assertNotIn(error["type"], FOREIGN)
            self.assertTrue(error["type"].islower(), error)

    def test_every_status_of_every_provider_for_every_client(self):
        for client in KINDS:
            for kind in UPSTREAMS:
                for status in ANTHROPIC:
                    for stream in (False, True):
                        with self.subTest(client, kind=kind, status=status, stream=stream):
                            says = said_by(kind, status, "too bad")
                            r, doc = self.ask_for(client, kind, status, says, stream)
                            self.assertEqual(r.status, status, r.body)
                            if client == kind:
                                self.assertEqual(doc, says)
                            else:
                                self.check_words(client, status, doc)
                            if client in ("openai", "responses") and kind in ("anthropic", "gemini",
                                                                             "ollama"):
                                self.assertEqual(doc["error"]["code"], OPENAI_CODES[status])

    def test_a_wrong_key_of_geminis_is_one_for_others(self):
        says = {"error": {"code": 400, "message": "API key not valid. Please pass a valid API key.",
                          "status": "INVALID_ARGUMENT", "details": [
                              {"@type": "type.googleapis.com/google.rpc.ErrorInfo",
                               "reason": "API_KEY_INVALID", "domain": "googleapis.com"}]}}
        r, doc = self.ask_for("anthropic", "gemini", 400, says)
        self.assertEqual((r.status, doc["error"]["type"]), (401, "authentication_error"))
        r, doc = self.ask_for("openai", "gemini", 400, says)
        self.assertEqual((r.status, doc["error"]["code"]), (401, "invalid_api_key"))
        r, doc = self.ask_for("gemini", "gemini", 400, says)
        self.assertEqual((r.status, doc), (400, says))

    def check_overflow(self, client, kind, status, says, got):
        r, doc = got
        if client == kind and status < 500 and (client, status) != ("openai", 413):
            self.assertEqual(r.status, status, r.body)
        else:
            self.assertEqual(r.status, 400, r.body)
        if client in ("openai", "responses"):
            self.assertEqual(doc["error"]["code"], "context_length_exceeded")
            if isinstance(says.get("error"), dict) and client == kind and status < 500:
                self.assertEqual(doc, {**says, "error": {**says["error"],
                                                         "code": "context_length_exceeded"}})
            else:
                self.assertEqual(doc["error"]["type"], "invalid_request_error")
        elif client == "anthropic":
            self.assertEqual(doc["error"]["type"], "invalid_request_error")
            if kind == client:
                self.assertEqual(doc, says)
            else:
                self.assertTrue(doc["error"]["message"].startswith("prompt is too long: "), doc)
                if str(U) in json.dumps(says):
                    self.assertEqual(doc["error"]["message"],
                                     f"prompt is too long: {U} tokens > {M} maximum")
        elif client == "gemini":
            self.assertEqual((doc["error"]["code"], doc["error"]["status"]), (400, "INVALID_ARGUMENT"))
            self.assertTrue(doc["error"]["message"].startswith("The input token count"), doc)
            if str(U) in json.dumps(says):
                self.assertEqual(doc["error"]["message"], f"The input token count ({U}) exceeds the "
                                 f"maximum number of tokens allowed ({M}).")
        else:
            self.assertEqual(list(doc), ["error"])
            self.assertIsInstance(doc["error"], str)

    def test_a_request_that_is_too_long_is_one_for_every_client(self):
        for kind, status, says in OVERFLOWS:
            for client in KINDS:
                for stream in (False, True):
                    with self.subTest(client, kind=kind, says=says, stream=stream):
                        self.up.asked = []
                        got = self.ask_for(client, kind, status, says, stream)
                        self.check_overflow(client, kind, status, says, got)
                        self.assertEqual(len(self.up.asked), 1)  # no retry

    def test_our_own_route_says_so_too(self):
        type(self).says = OVERFLOWS[2][2]
        for stream in (False, True):
            self.up.statuses = [400]
            r = self.send("/generate", {"model": "anthropic-m", "prompt": "hi", "stream": stream})
            self.assertEqual(r.status, 400, r.body)
            self.assertEqual(json.loads(r.body)["error"]["code"], "context_length_exceeded")

    def test_a_limit_on_tokens_a_minute_is_no_request_that_is_too_long(self):
        says = {"error": {"message": "Request too large for model: Limit 6000, Requested 9000 tokens "
                          "per min. This model's maximum context length is 131072 tokens.",
                          "type": "tokens", "code": "rate_limit_exceeded"}}
        _, doc = self.ask_for("anthropic", "openai", 429, says)
        self.assertEqual(doc["error"]["type"], "rate_limit_error")


class Firsts(Case):
    """Errors at the beginning of a reply with status 200."""

    # The status that their clients get.
    SAYS = {
        "openai": (502, {"error": {"message": "Provider returned error", "code": 502, "metadata": {
            "provider_name": "X", "raw": "too busy"}}, "user_id": "u"}),
        "anthropic": (529, {"type": "error", "request_id": "req_1", "error": {
            "type": "overloaded_error", "message": "too busy", "details": None}}),
        "gemini": (429, {"error": {"code": 429, "message": "too busy", "status": "RESOURCE_EXHAUSTED",
                                   "details": [{"@type": "x"}]}}),
        "ollama": (500, {"error": "too busy", "more": 1}),
        "responses": (502, {"error": {"message": "too busy", "type": "odd", "code": 500, "more": 1}}),
    }

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.up.answer = cls.answer

    @classmethod
    def answer(cls, path, body, status):
        del path, body, status
        return cls.says

    def refused(self, client, kind, stream, said):
        data = json.dumps(said)
        if not stream or kind == "ollama":
            type(self).says = ("application/json", data.encode())
        else:
            type(self).says = ("text/event-stream", f"event: error\ndata: {data}\n\n".encode())
        return self.ask(client, f"{kind}-m", stream)

    def test_a_client_of_the_same_dialect_gets_the_providers_body(self):
        for kind, (status, said) in self.SAYS.items():
            for stream in (False, True):
                if kind == "responses" and stream:
                    continue  # its error event is not an error body
                with self.subTest(kind, stream=stream):
                    r = self.refused(kind, kind, stream, said)
                    self.assertEqual((r.status, r.body), (status, json.dumps(said).encode()))

    def test_a_client_of_another_dialect_gets_its_own(self):
        r = self.refused("anthropic", "openai", True, self.SAYS["openai"][1])
        self.assertEqual((r.status, json.loads(r.body)["error"]), (502, {
            "type": "api_error", "message": "Provider returned error: too busy"}))

    def test_a_body_with_a_part_of_the_reply_is_not_passed(self):
        said = {"error": {"message": "broken", "code": 500}, "choices": [
            {"index": 0, "delta": {"reasoning": "ponder"}, "finish_reason": "error"}]}
        for stream in (False, True):
            r = self.refused("openai", "openai", stream, said)
            self.assertEqual((r.status, json.loads(r.body)["error"]["message"]), (500, "broken"))
            self.assertNotIn(b"ponder", r.body)


class Streams(Case):
    """Errors in the middle of a stream."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.up.answer = cls.answer

    @classmethod
    def answer(cls, path, body, status):
        """The first chunk, then the error after the client has received text, which is too late for
        a status."""
        del path, body, status

        def pieces():
            yield (stream_of("openai").split("\n\n")[0] + "\n\n").encode()
            cls.begun.wait(60)
            yield cls.says.encode()
        return "text/event-stream", pieces()

    def failed(self, client, code, message, type_="invalid_request_error"):
        type(self).begun = threading.Event()
        type(self).says = "data: " + json.dumps({"error": {
            "message": message, "type": type_, "code": code}}) + "\n\n"
        r = self.ok(self.ask(client, "openai-m", True, begun=self.begun.set))
        return [json.loads(line[6:]) for line in r.body.decode().splitlines()
                if line.startswith("data: {")]

    def test_a_failed_response_says_why_by_its_code(self):
        too_long = f"This model's maximum context length is {M} tokens, not {U}."
        for code, message, type_, want in (
                (None, too_long, "invalid_request_error", "context_length_exceeded"),
                ("rate_limit_exceeded", "slow", "requests", "rate_limit_exceeded"),
                (529, "busy", "overloaded_error", "server_is_overloaded"),
                (500, "broken", "server_error", "server_error")):
            with self.subTest(want):
                events = self.failed("responses", code, message, type_)
                error = next(e for e in events if e["type"] == "error")
                last = events[-1]
                self.assertEqual((last["type"], last["response"]["status"]),
                                 ("response.failed", "failed"))
                self.assertEqual(last["response"]["error"], {"code": want, "message": message})
                self.assertEqual(error["code"], want)
                self.assertEqual([i["status"] for i in last["response"]["output"]], ["incomplete"])

    def test_a_request_that_is_too_long_is_told_in_a_stream(self):
        message = f"This model's maximum context length is {M} tokens, not {U}."
        events = self.failed("anthropic", None, message)
        self.assertEqual((events[-1]["type"], events[-1]["error"]["message"]),
                         ("error", f"prompt is too long: {U} tokens > {M} maximum"))
        events = self.failed("openai", None, message)
        self.assertEqual(events[-1]["error"]["code"], "context_length_exceeded")


class FailedChoices(Case):
    """A finish_reason that reports a failure of the provider: an error in other dialects."""

    FAILED = {"index": 0, "finish_reason": "error", "error": {"code": 503, "message": "GPU lost"}}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.up.answer = cls.answer

    @classmethod
    def answer(cls, path, body, status):
        """A stream reports it after the client has received text."""
        del status
        gemini = "enerateContent" in path
        if not body.get("stream") and "stream" not in path:
            return "application/json", json.dumps(cls.says).encode()

        def pieces():
            text = {"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": "Yes."}]}}]}
            first = f"data: {json.dumps(text)}" if gemini else stream_of("openai").split("\n\n", maxsplit=1)[0]
            yield f"{first}\n\n".encode()
            cls.begun.wait(60)
            yield f"data: {json.dumps(cls.says)}\n\n{'' if gemini else 'data: [DONE]'}\n\n".encode()
        return "text/event-stream", pieces()

    def failed(self, client, kind, stream, choice):
        part = {"content": "" if stream else "Yes"}
        type(self).begun = threading.Event()
        if kind == "gemini":
            type(self).says = {"candidates": [choice], "modelVersion": "m"}
            return self.ask(client, "gemini-m", stream, **({"begun": self.begun.set} if stream else {}))
        type(self).says = {"id": "c1", "object": "chat.completion" + (".chunk" if stream else ""),
                           "created": 1, "model": "m", "choices": [
                               {**choice, ("delta" if stream else "message"): part}]}
        return self.ask(client, f"{kind}-m", stream, **({"begun": self.begun.set} if stream else {}))

    def test_a_whole_reply_that_failed_is_an_error_with_a_status(self):
        for client in KINDS:
            for kind in {"openai", "mistral"} - {client}:
                with self.subTest(client, kind=kind):
                    r = self.failed(client, kind, False, self.FAILED)
                    self.assertEqual(r.status, 503, r.body)
                    self.assertIn(b"GPU lost", r.body)
                    self.assertNotIn(b"Yes", r.body)

    def test_without_words_the_error_has_ours(self):
        for reason in ("error", "network_error", "insufficient_system_resource", "abort"):
            r = self.failed("anthropic", "mistral", False, {"index": 0, "finish_reason": reason})
            self.assertEqual((r.status, json.loads(r.body)["error"]), (502, {
                "type": "api_error", "message": "the provider failed in the middle of its reply "
                                                f"(finish_reason: {reason})"}))

    def test_a_stream_that_failed_ends_with_an_error(self):
        for client in KINDS:
            for kind in {"openai", "mistral"} - {client}:
                with self.subTest(client, kind=kind):
                    r = self.ok(self.failed(client, kind, True, self.FAILED))
                    last = r.body.decode().rstrip().splitlines()[-1]
                    last = json.loads(last.removeprefix("data: "))
                    self.assertIn("GPU lost", json.dumps(last))
                    if client == "responses":
                        self.assertEqual(last["response"]["status"], "failed")
                    else:
                        self.assertIn("error", last)
                    for end in (b"[DONE]", b"message_stop", b'"finishReason"', b'"done":true',
                                b"response.completed"):
                        self.assertNotIn(end, r.body)

    def test_an_unusable_reply_of_gemini_is_an_error_for_others(self):
        for reason in ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS",
                       "MISSING_THOUGHT_SIGNATURE", "MALFORMED_RESPONSE"):
            choice = {"index": 0, "finishReason": reason, "finishMessage": "call: print(x"}
            message = f"the provider failed in the middle of its reply (finishReason: {reason}): call: print(x"
            r = self.failed("anthropic", "gemini", False, choice)
            self.assertEqual((r.status, json.loads(r.body)["error"]),
                             (502, {"type": "api_error", "message": message}))
            r = self.ok(self.failed("openai", "gemini", True, choice))
            self.assertIn(b"Yes.", r.body)
            self.assertEqual(json.loads(r.body.decode().rstrip().splitlines()[-1][6:])["error"]["message"], message)
            for stream in (False, True):
                r = self.ok(self.failed("gemini", "gemini", stream, choice))
                self.assertIn(json.dumps(self.says).encode(), r.body)

    def test_an_unusable_reply_does_not_count_as_a_failure_of_the_provider(self):
        shared = self.gateway
        with Gateway(BINARY, {**self.config(), "breaker": {"failures": 2}, "keys": shared.config["keys"]}) as g:
            type(self).gateway = g
            self.addCleanup(setattr, type(self), "gateway", shared)
            for _ in range(4):
                r = self.failed("anthropic", "gemini", False, {
                    "index": 0, "finishReason": "MALFORMED_FUNCTION_CALL"})
                self.assertEqual((r.status, b"MALFORMED" in r.body), (502, True), r.body)

    def test_a_client_of_the_same_dialect_gets_the_providers_words(self):
        for stream in (False, True):
            r = self.ok(self.failed("openai", "openai", stream, self.FAILED))
            self.assertIn(json.dumps(self.says).encode(), r.body)
            self.assertEqual(b"[DONE]" in r.body, stream)


class WrongKeys(Case):
    def test_an_address_that_guesses_must_wait_but_right_keys_pass(self):
        key = {"authorization": "Bearer sk-right"}
        with Gateway(BINARY, {**self.config(), "keys": [
                {"name": "right", "sha256": digest("sk-right"), "role": "operator"}]}) as g:
            def refused(path, body=None, headers={"x-api-key": "sk-x"}):
                for i in range(400):  # one more is judged each second
                    r = request(path, body, headers, at=g)
                    if r.status == 429:
                        return i, r
                    self.assertEqual(r.status, 401)

            i, r = refused("/v1/models")
            self.assertGreaterEqual(i, 100)
            self.assertEqual(json.loads(r.body)["error"]["code"], "too_many_wrong_keys")
            self.assertIn(r.headers["retry-after"], ("1", "2"))
            self.assertEqual(request("/v1/models", headers=key, at=g).status, 200)
            self.assertEqual(request("/v1/models", headers={}, at=g).status, 401)
            refused("/api/v1/login", {"key": "sk-x"}, {})
            refused("/api/v1/login", {"code": "x"}, {})
            self.assertEqual(refused("/api/v1/live")[1].status, 429)
            self.assertEqual(request("/api/v1/login", {"key": "sk-right"}, {}, at=g).status, 200)
            page = request("/metrics", headers=key, at=g).body.decode()
            self.assertRegex(page, r'rationale_rejected_total\{reason="wrong_keys"\} [3-9]')


class Starts(Case):
    """A stream of Anthropic's begins with the number of input tokens."""

    def test_the_first_event_has_our_count_and_the_last_the_providers(self):
        words = "one two three four " * 100
        for kind in UPSTREAMS:
            with self.subTest(kind):
                r = self.ok(self.send("/v1/messages", {
                    "model": f"{kind}-m", "max_tokens": 100, "stream": True,
                    "messages": [{"role": "user", "content": words}]}))
                events = [json.loads(line[6:]) for line in r.body.decode().splitlines()
                          if line.startswith("data: {")]
                first, last = events[0]["message"]["usage"], events[-2]["usage"]
                if kind == "anthropic":
                    self.assertEqual(first["input_tokens"], 1)
                else:
                    self.assertGreater(first["input_tokens"], 350)
                    self.assertLess(first["input_tokens"], 650)
                if kind in ("responses", "gemini", "ollama"):
                    self.assertEqual(last["input_tokens"], 1)
                elif kind != "anthropic":  # the provider reports no count
                    self.assertEqual(last["input_tokens"], first["input_tokens"])


assert set(BASES) == set(UPSTREAMS)

if __name__ == "__main__":
    start()
