"""A task of a coding agent (step "task"): the model reads two files, writes their sum to a third,
and answers. It thinks before each step.

The request describes the task in these words, anywhere in its messages:

    Add the numbers in FILE and FILE, and write the sum to FILE.

The first turn has a text and two calls at once, the second one call, the third an answer. The
sum is computed from the results that came back, so a lost or changed result shows in the file. A
request without tools, such as one for a title, gets a short answer.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import re

import script as s

WORDS = re.compile(r"Add the numbers in (/[\w./-]+) and (/[\w./-]+), and write the sum to "
                   r"(/[\w./-]+)\.")
ANSWER = "Done: the sum is written."
# The reasoning before each step: the marker of all reasoning, and a word that occurs nowhere else.
SECRET = "quartzotter"
THOUGHTS = [f"{s.OPENING} Two files, 一 步 at a time; {SECRET} one.",
            f"{s.OPENING} Now I add them up; {SECRET} two.",
            f"{s.OPENING} The file is there; {SECRET} three."]
UPDATE = f"Let me {s.MARK} briefly; {SECRET}."


def patch(path, text):
    return f"*** Begin Patch\n*** Add File: {path}\n+{text}\n*** End Patch"


# The tools of coding agents, preferred ones first: name and arguments.
READ = (
    ("Read", lambda path: {"file_path": path}),
    ("read", lambda path: {"filePath": path}),
    ("read_file", lambda path: {"file_path": path, "absolute_path": path}),  # Gemini CLI, Qwen Code
    ("exec_command", lambda path: {"cmd": f"cat {path}"}),
    ("shell_command", lambda path: {"command": f"cat {path}"}),
    ("shell", lambda path: {"command": ["cat", path]}),
)
WRITE = (
    ("Write", lambda path, text: {"file_path": path, "content": text + "\n"}),
    ("write", lambda path, text: {"filePath": path, "content": text + "\n"}),
    ("write_file", lambda path, text: {"file_path": path, "content": text + "\n"}),
    ("exec_command", lambda path, text: {"cmd": f"echo {text} > {path}"}),
    ("shell_command", lambda path, text: {"command": f"echo {text} > {path}"}),
    ("shell", lambda path, text: {"command": ["bash", "-c", f"echo {text} > {path}"]}),
    ("apply_patch", lambda path, text: {"patchText": patch(path, text)}),
)

steps = {}  # call id -> (the task's words, its step)


def tool(ask, table, *args):
    for name, arguments in table:
        if name in ask.tools:
            return name, arguments(*args)
    raise s.Refused(f"no tool for this task among {ask.tools}")


def check_loop(ask, words):
    """The reasoning of every call of this task must come back unchanged."""
    for call, given in ask.returned.items():
        want, of = s.issued.get(call), steps.get(call)
        if want is None:
            raise s.Refused(f"tool call {call} was never made by this model")
        if of[0] == words and given != want:
            raise s.Refused(f"the reasoning of tool call {call} must come back as it was: "
                            f"wanted {want!r}, got {given!r}")


def thought(ask, step):
    """Returns (visible text, signature, tokens) of the reasoning before a step. With display
    "updates" only the first has a text; the others have a signature only, as all have with
    "omitted"."""
    if ask.think == "off" or (ask.signs and ask.think != "on"):
        return None
    text = THOUGHTS[step]
    shown = {"updates": "" if step else UPDATE, "omitted": ""}.get(ask.display, text)
    nonce = f"{next(s.counter):08d}".encode() if ask.signs else b""
    return shown, s.sign(shown, nonce), s.tokens(text)


def calls(ask, words, step):
    first, second, target = words
    if step == 0:
        return [tool(ask, READ, first), tool(ask, READ, second)]
    if step == 1:
        found = [re.findall(r"number is (\d+)", r) for r in ask.results]
        if len(found) != 2 or not all(found):
            raise s.Refused(f"the results of two tools were expected, not {ask.results}")
        return [tool(ask, WRITE, target, str(sum(int(f[0]) for f in found)))]
    return []


def compose(script, ask):
    found = WORDS.findall(json.dumps(ask.doc, ensure_ascii=False))
    words = found[-1] if found else None
    step, made = 2, []
    if ask.tools and words and not ask.no_tools:
        done = [steps[c] for c in ask.returned if c in steps and steps[c][0] == words]
        step = 1 + max(n for _, n in done) if done else 0
        check_loop(ask, words)
        made = calls(ask, words, step)
    blocks, reasoning = [], thought(ask, step)
    if reasoning:
        blocks.append(s.Block("reasoning", reasoning[0], signature=reasoning[1]))
    if step == 0:
        blocks.append(s.Block("text", "I read both files."))
    for name, args in made:
        call = s.Block("call", id=f"{ask.call_prefix}{next(s.counter):08d}", name=name, args=args)
        s.issued[call.id] = reasoning[:2] if reasoning and ask.wants_back else ("", "")
        steps[call.id] = (words, step)
        blocks.append(call)
    if not made:
        blocks.append(s.Block("text", ANSWER if ask.tools else "Sum of two numbers"))
    thinking = reasoning[2] if reasoning else 0
    said = sum(s.tokens(b.text) + s.tokens(json.dumps(b.args)) for b in blocks
               if b.kind != "reasoning")
    return s.Turn(f"r{next(s.counter):08d}", ask, blocks, "tool" if made else "end", thinking,
                  thinking + said, script)
