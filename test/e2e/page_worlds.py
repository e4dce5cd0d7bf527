"""The folders in which pages of the manual begin: `<!-- world NAME -->` calls NAME(shell, binary).

A world provides what its page assumes: the source after `make`, a running gateway, an agent with
a model. The function may return another one, which stops what it started.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import shutil
from pathlib import Path

from operator_model import Operator
from page_runner import SOURCE, Matcher
from scripted_model import Model, last, results

LISTENING = "…\nlistening on http://127.0.0.1:8484\n"
REFUND = {"type": "function", "function": {"name": "refund", "parameters": {"type": "object", "properties": {
    "order": {"type": "string"}}}}}


def source(shell, binary):
    """The folder of the source after `make`."""
    for name in ("example", "include"):
        shutil.copytree(SOURCE / name, shell.work / name)
    build = shell.work / "build"
    build.mkdir()
    (build / "rationale").symlink_to(shell.folder / "bin" / "rationale")
    for library in Path(binary).parent.glob("librationale*"):
        if library.is_file():
            (build / library.name).symlink_to(library)


def support(ask):
    """A model that refunds a lost parcel, and says so afterwards."""
    usage = {"prompt_tokens": 42, "completion_tokens": 31, "total_tokens": 73, "completion_tokens_details": {"reasoning_tokens": 12}}
    if ask.get("tools") and not results(ask):
        said = {"reasoning": "The parcel was lost, and the limit is not reached.", "calls": [("refund", {"order": "4711"})]}
    elif "parcel" in last(ask, "user"):
        said = {"reasoning": "The carrier says that the parcel was lost on Monday.", "text": "It was lost; the money is on its way."}
    else:
        said = {"reasoning": "A plain question.", "text": "We are open from 8 to 18."}
    return {**said, "usage": usage}


def served(shell, _):
    """A gateway with some recorded calls, in a folder with its rationale.yaml."""
    model = Model(support).__enter__()
    (shell.work / "rationale.yaml").write_text(
        f'providers:\n  openai: {{base_url: "{model.root}/v1", models: [gpt-5]}}\nreasoning: {{show: false}}\n')
    problem = shell.start("rationale serve", Matcher(), LISTENING)
    assert problem is None, problem
    for session, said, more in (("hours-3", "When are you open?", {}), ("parcel-9", "Where is my parcel?", {}),
                                ("parcel-17", "My parcel 4711 is lost, I want my money back.", {"tools": [REFUND]})):
        body = {"model": "gpt-5", "user": "user-17", "messages": [{"role": "user", "content": said}], **more}
        out, code = shell.run(f"curl -sf http://127.0.0.1:8484/v1/chat/completions -H 'x-rationale-session: {session}' "
                              f"-d '{json.dumps(body)}'")
        assert code == 0, out
    return lambda: model.__exit__()


def recorded(shell, binary):
    """The record of such a gateway after it has stopped."""
    close = served(shell, binary)
    shell.run("rationale list")  # waits until the tables have the calls
    shell.run("kill $(jobs -p) && wait")
    close()


def library(shell, _):
    """A folder with the MCP server library.py, and a model at port 8000."""
    for name in ("library.py", "model.py"):
        shutil.copy(SOURCE / "example/agents" / name, shell.work)
    problem = shell.start("python3 model.py 8000", Matcher(), "listening on http://127.0.0.1:8000/v1\n")
    assert problem is None, problem


def operator(shell, binary):
    """The source, and a rationale.yaml with a scripted model for investigations."""
    source(shell, binary)
    model = Operator().__enter__()
    (shell.work / "rationale.yaml").write_text(
        f'providers:\n  openai: {{kind: openai, base_url: "{model.root}/v1", models: [operator]}}\nlog: {{level: warn}}\n')
    return lambda: model.__exit__()


CODING_AGENT = """import json, os, urllib.request
ask = {"model": "gpt-5", "messages": [{"role": "user", "content": "Fix the flaky test."}], "tools": [{"type": "function",
       "function": {"name": "Bash", "parameters": {"type": "object", "properties": {"command": {"type": "string"}}}}}]}
url = os.environ["OPENAI_BASE_URL"].rstrip("/") + "/chat/completions"
urllib.request.urlopen(urllib.request.Request(url, json.dumps(ask).encode(), {"content-type": "application/json"})).read()
"""


def watched(shell, _):
    """The data folder with the record of a coding agent that was watched."""
    def reply(_):
        return {"reasoning": "The test fails every third time, so I run it ten times.",
                "calls": [("Bash", {"command": "for i in 1 2 3; do pytest -x; done"})]}
    (shell.folder / "agent.py").write_text(CODING_AGENT)
    with Model(reply) as model:
        out, code = shell.run(f"rationale watch --upstream openai={model.root}/v1 -- python3 {shell.folder}/agent.py")
        assert code == 0, out


WORLDS = {f.__name__: f for f in (source, served, recorded, library, operator, watched)}
