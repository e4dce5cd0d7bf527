"""The lists of models, as the Python SDKs get them: each reply is checked against the SDK's types.
Google's SDK uses /v1, as OpenAI's and Anthropic's do, so it also makes a call there."""
# SPDX-License-Identifier: Apache-2.0
import unittest

import anthropic
import ollama
import openai
from google import genai
from mistralai.client import Mistral
from pysuite import DIRECT, KEY, ROOT, answer_to, main, prompt


class Models:
    def test_openai(self):
        with openai.OpenAI(base_url=f"{ROOT}/v1", api_key=KEY, max_retries=0,
                           _strict_response_validation=True) as client:
            ids = [m.id for m in client.models.list()]
            self.assertIn("openai-plain", ids)
            one = client.models.retrieve("openai-plain")
            self.assertEqual((one.id, one.object), ("openai-plain", "model"))
            with self.assertRaises(openai.NotFoundError):
                client.models.retrieve("no-such-model")

    def test_anthropic(self):
        with anthropic.Anthropic(base_url=ROOT, api_key=KEY, max_retries=0,
                                 _strict_response_validation=True) as client:
            ids = [m.id for m in client.models.list(limit=5)]
            self.assertIn("anthropic-plain", ids)
            self.assertEqual(len(ids), len(set(ids)))
            page = client.models.list()
            self.assertEqual((page.has_more, page.first_id, page.last_id), (False, ids[0], ids[-1]))
            one = client.models.retrieve("anthropic-plain")
            self.assertEqual((one.id, one.type, one.lifecycle), ("anthropic-plain", "model", "active"))
            with self.assertRaises(anthropic.NotFoundError):
                client.models.retrieve("no-such-model")

    def test_gemini(self):
        client = genai.Client(api_key=KEY, http_options={"base_url": ROOT})
        names = [m.name for m in client.models.list(config={"page_size": 5})]
        self.assertIn("models/gemini-plain", names)
        one = client.models.get(model="gemini-plain")
        self.assertEqual(one.name, "models/gemini-plain")
        self.assertIn("generateContent", one.supported_actions)
        said = prompt()
        reply = client.models.generate_content(model="gemini-plain", contents=said)
        self.assertEqual(reply.text, answer_to(said))
        stream = client.models.generate_content_stream(model="gemini-plain", contents=said)
        self.assertEqual("".join(c.text or "" for c in stream), answer_to(said))

    def test_mistral(self):
        with Mistral(api_key=KEY, server_url=ROOT) as client:
            self.assertIn("mistral-plain", [m.id for m in client.models.list().data])
            one = client.models.retrieve(model_id="mistral-plain")
            self.assertEqual((one.id, one.type), ("mistral-plain", "base"))
            self.assertTrue(one.capabilities.completion_chat)

    def test_ollama(self):
        client = ollama.Client(host=ROOT, headers={"authorization": f"Bearer {KEY}"})
        listed = client.list().models
        self.assertIn("ollama-plain", [m.model for m in listed])
        self.assertTrue(all(m.details and m.digest for m in listed))
        self.assertIn("completion", client.show("ollama-plain").capabilities)
        self.assertEqual(list(client.ps().models), [])


if __name__ == "__main__":
    main(unittest.skipIf(DIRECT, "these are the gateway's")(Models), "openai", [])
