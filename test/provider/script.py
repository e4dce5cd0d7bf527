"""The replies of the test provider's models: the model's name is the script (see provider.py).

A dialect reads a request into an Ask; compose() makes a Turn of it, which the dialect then
writes, whole or in pieces. This file knows no wire format.
"""
# SPDX-License-Identifier: Apache-2.0
import base64
import hashlib
import hmac
import itertools
import json
import re
from dataclasses import dataclass, field

MARK = "ponder"  # in every reasoning text and in no answer
OPENING = f"Let me {MARK} this."
# Words that are single tokens in common vocabularies, so that the number of words is nearly that of
# tokens.
WORDS = "one two three four five six seven eight nine ten first next then also so now here last".split()

# Tags around reasoning in the text of models whose server does not separate it.
TAGS = {
    "think": ("<think>", "</think>"),
    "deepseek_r1": ("", "</think>"),  # the prompt has the opener
    "qwen3": ("<think>\n", "\n</think>\n\n"),
    "reasoning": ("<reasoning>", "</reasoning>"),
    "thinking": ("<thinking>", "</thinking>"),
    "mistral": ("[THINK]", "[/THINK]"),
    "kimi": ("◁think▷", "◁/think▷"),
    "minimax_m3": ("<mm:think>", "</mm:think>"),
    "seed_oss": ("<seed:think>", "</seed:think>"),
    "gemma4": ("<|channel>thought\n", "<channel|>"),
    "cohere": ("<|START_THINKING|>", "<|END_THINKING|>"),
    "granite": ("Here is my thought process: ", " Here is my response: "),
    "harmony": ("<|channel|>analysis<|message|>",
                "<|end|><|start|>assistant<|channel|>final<|message|>"),
}


class Refused(Exception):
    """A request that the real service would refuse."""

    def __init__(self, message, status=400, param=None, code=None, kind=None):
        super().__init__(message)
        self.message, self.status, self.param, self.code = message, status, param, code
        self.kind = kind


@dataclass
class Ask:
    """The parts of a request that scripts use."""
    model: str
    stream: bool = False
    user: str = ""          # text of the last user message
    system: str = ""
    tail: str = ""          # text of the last message of any role
    results: list = field(default_factory=list)  # texts of tool results at the end
    tools: list = field(default_factory=list)    # names
    forced: str = ""        # a tool that must be called, or "any"
    no_tools: bool = False  # tool_choice none
    max_tokens: int = 0
    think: str = "unset"    # unset, off, on
    visible: bool = True    # reasoning is sent if there is any
    budget: int = -1
    prefill: bool = False   # the last message is the beginning of the answer
    wishes: list = field(default_factory=list)   # reasoning and sampling parameters present
    returned: dict = field(default_factory=dict)  # call id -> (reasoning text, signature) sent back
    usage: bool = True      # a stream ends with its usage
    input_tokens: int = 0
    call_prefix: str = "call_"
    display: str = "summarized"  # which reasoning is sent: summarized, updates, omitted
    signs: bool = False     # the provider signs or encrypts its reasoning
    wants_back: bool = True  # the reasoning of a call must come back with the call's result
    doc: dict = field(default_factory=dict)      # the request itself


@dataclass
class Block:
    kind: str  # reasoning, text, call
    text: str = ""
    id: str = ""
    name: str = ""
    args: dict = field(default_factory=dict)
    signature: str = ""


@dataclass
class Turn:
    id: str
    ask: Ask
    blocks: list
    stop: str  # end, length, tool
    reasoning_tokens: int
    output_tokens: int
    script: "Script" = None

    def text(self, kind):
        return "".join(b.text for b in self.blocks if b.kind == kind)

    def calls(self):
        return [b for b in self.blocks if b.kind == "call"]


class Script:
    """A parsed model name: steps joined by +, each with arguments after colons."""

    def __init__(self, name):
        self.name = name
        self.steps = {}
        for step in name.split("+"):
            word, *args = step.split(":")
            self.steps[word] = args

    def __contains__(self, word):
        return word in self.steps

    def number(self, word, default=0):
        args = self.steps.get(word, [])
        return int(args[0]) if args and args[0].isdigit() else default

    def arg(self, word, default=""):
        args = self.steps.get(word, [])
        return args[0] if args else default

    def options(self, word):
        return dict(a.split("=", 1) for a in self.steps.get(word, []) if "=" in a)


KNOWN = {
    # content
    "plain", "think", "tools", "think-tools", "parallel", "think-parallel", "tags", "obedient",
    "long-think", "starve", "echo", "refuse-signature", "reject-reasoning", "reject", "control",
    "empty", "long", "task",
    # form
    "loud", "as", "inline", "no-usage", "bad-usage", "same-id", "tag", "redacted", "interleave",
    "strict", "omitted",
    # faults
    "error", "error-mid", "cut", "rst", "stall", "silent", "hush", "slow", "hold", "badjson",
    "html", "wrong-type", "no-done", "double-done", "after-done", "huge-line", "drip", "crlf", "cr", "bom",
    "split-utf8", "comments", "no-space", "until-close", "gzip", "empty-body", "random-cuts",
}

FAMILIES = ("claude-", "gemini-", "gpt-")  # for gateways that derive a model's features from its name

SIGNING_KEY = b"of the test provider"

counter = itertools.count(1)
issued = {}  # call id -> (reasoning, signature) that must come back


def reset():
    issued.clear()


def sign(text, nonce=b""):
    """The signature of a reasoning text. A nonce makes it unique to one block."""
    mac = hmac.new(SIGNING_KEY, nonce + text.encode(), hashlib.sha256).digest()
    return base64.b64encode(b"provider." + mac + nonce).decode()


def is_signed(text, signature):
    """Whether a signature belongs to exactly this text."""
    try:
        raw = base64.b64decode(signature, validate=True)
    except ValueError:
        return False
    return signature == sign(text, raw[len(b"provider.") + 32:])


def words(n):
    return " ".join(itertools.islice(itertools.cycle(WORDS), n))


def tokens(text):
    return len(text.split())


def pieces(text):
    """The text as a model streams it: word by word, without loss."""
    return re.findall(r"\s*\S+\s*$|\s*\S+|\s+$", text)


def answer_of(ask):
    """Repeats the question, with characters of one to four bytes."""
    return f"You said: {ask.user} Grüße, 世界 🌍."


def arguments(name, ask, index):
    return {"city": ["Paris", "Tōkyō", "Oslo"][index % 3], "note": f"for \"{ask.user[:40]}\""} \
        if name else {}


def reasoning_of(script, ask):
    if "long-think" in script:
        n = script.number("long-think", 400)
        if "obey" in script.steps["long-think"] and ask.budget >= 0:
            n = min(n, max(ask.budget, 3))
        return f"{OPENING} {words(max(n - 4, 0))}"
    return f"{OPENING} They said {len(ask.user)} letters, 一 步 at a time. So I know."


def wants_calls(script, ask):
    if ask.no_tools or not ask.tools or ask.results:
        return 0
    if ask.forced:
        return 1
    if "parallel" in script or "think-parallel" in script:
        return 2
    return int(any(w in script for w in ("tools", "think-tools", "refuse-signature")))


def thinks(script, ask):
    """Whether this turn has reasoning. A model with thinking off, or whose own reasoning ends the
    request, answers at once."""
    if ask.think == "off" or ask.prefill or MARK in ask.tail:
        return False
    return any(w in script for w in ("think", "think-tools", "think-parallel", "long-think",
                                     "starve", "refuse-signature", "tags"))


def check_returned(script, ask):
    """refuse-signature: the reasoning before a tool call must come back with the call's result."""
    if "refuse-signature" not in script or not ask.results:
        return
    for call, given in ask.returned.items():
        want = issued.get(call)
        if want is None:
            raise Refused(f"tool call {call} was never made by this model")
        if given == want:
            continue
        raise Refused(f"the reasoning of tool call {call} must come back as it was: "
                      f"wanted {want!r}, got {given!r}")


def obedient_tag(ask):
    """The tag in which the system prompt requests reasoning, or ""."""
    found = re.search(r"<([a-z_]+)>", ask.system)
    return found[1] if found else ""


def limit(turn):
    """Truncates the turn to max_tokens."""
    left = turn.ask.max_tokens
    if not left:
        return
    kept = []
    for block in turn.blocks:
        if block.kind == "call":
            kept.append(block)
            continue
        said = pieces(block.text)
        if len(said) > left:
            block.text = "".join(said[:left])
            block.signature = ""
            kept.append(block)
            turn.stop = "length"
            left = 0
            break
        left -= len(said)
        kept.append(block)
    turn.blocks = kept


def compose(script, ask):
    if "task" in script:
        return task.compose(script, ask)
    check_returned(script, ask)
    unknown = {s for s in set(script.steps) - KNOWN if not s.startswith(FAMILIES)}
    if unknown:
        raise Refused(f"The model `{script.name}` does not exist: no step {sorted(unknown)}", 404,
                      code="model_not_found")
    reasoning = reasoning_of(script, ask) if thinks(script, ask) else ""
    if "starve" in script and reasoning:
        reasoning = f"{OPENING} {words(5000 if not ask.max_tokens else ask.max_tokens + 50)}"
    answer = answer_of(ask)
    if ask.results:
        answer = f"The tools said: {' | '.join(ask.results)}."
    if "echo" in script:
        answer = ask.user
    if "empty" in script:
        answer = ""
    if "long" in script:
        answer = f"{answer} {words(script.number('long', 2000))}"
    if "huge-line" in script:
        answer = answer + " " + "x" * script.number("huge-line", 1 << 20)
    blocks = []
    if "obedient" in script and obedient_tag(ask):
        name = obedient_tag(ask)
        answer = f"<{name}>{reasoning_of(script, ask)}</{name}>{answer}"
    if "tags" in script and reasoning:
        opener, closer = TAGS[script.arg("tags", "think")]
        answer = f"{opener}{reasoning}{closer}{answer}"
    elif reasoning:
        blocks.append(Block("reasoning", reasoning, signature=sign(reasoning)))
    calls = wants_calls(script, ask)
    for i in range(calls):
        name = ask.forced if ask.forced and ask.forced != "any" else ask.tools[i % len(ask.tools)]
        block = Block("call", id=f"{ask.call_prefix}{next(counter):08d}", name=name,
                      args=arguments(name, ask, i))
        issued[block.id] = ("" if "omitted" in script else reasoning, sign(reasoning) if reasoning else "")
        blocks.append(block)
    if not calls and answer:
        blocks.append(Block("text", answer))
    if len(issued) > 50000:
        issued.clear()
    turn = Turn("same" if "same-id" in script else f"r{next(counter):08d}", ask, blocks,
                "tool" if calls else "end", 0, 0, script)
    limit(turn)
    turn.reasoning_tokens = tokens(turn.text("reasoning"))
    turn.output_tokens = turn.reasoning_tokens + tokens(turn.text("text")) + \
        sum(tokens(json.dumps(c.args)) for c in turn.calls())
    return turn


import task  # needs the definitions above
