"""A gateway with three versions of a policy, and a model that disagrees with its rules."""
# SPDX-License-Identifier: Apache-2.0
from gateway import Gateway
from policy_test import Model, call, finish, search
from policy_versions_test import CRITERIA, FILES

WRONG = [search(), [call("facts_get", field_name="age")], finish("met", confidence=0.95)]


def turns(body):
    return CRITERIA if "criteria that it sets" in body["messages"][0]["content"] else WRONG


class Policies(Gateway):
    def __init__(self, binary):
        self.model = Model(turns)
        super().__init__(binary, {
            "providers": {"m": {"kind": "openai", "base_url": f"http://127.0.0.1:{self.model.port}/v1",
                                "models": ["scripted"], "retries": 0}},
            "policy": {"documents": {"plan": list(FILES)}, "search": "bm25"}})
        for name, text in FILES.items():
            (self.folder / name).write_text(text)

    def stop(self):
        super().stop()
        self.model.close()
