"""Small checks that the dialects share, with the errors of the real services."""
# SPDX-License-Identifier: Apache-2.0
import json
import re

from script import MARK, Refused


def need(truth, message, param=None, **more):
    if not truth:
        raise Refused(message, param=param, **more)


def text_of(content, kinds=("text", "input_text", "output_text")):
    """The text in a content that is a string or a list of parts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return "".join(p.get("text", "") for p in content if p.get("type", "text") in kinds)


def is_int(value, low=None, high=None):
    return isinstance(value, int) and not isinstance(value, bool) and \
        (low is None or value >= low) and (high is None or value <= high)


def is_number(value, low, high):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high


def number_in(body, name, low, high):
    value = body.get(name)
    need(value is None or is_number(value, low, high),
         f"Invalid '{name}': {value!r} is not a number from {low} to {high}.", name)


def tool_name(name, length=64):
    return isinstance(name, str) and re.fullmatch(rf"[a-zA-Z0-9_.:-]{{1,{length}}}", name)


def known_names(body, known, message):
    for name in body:
        need(name in known, message.format(name), name)


def is_json_object(text):
    try:
        return isinstance(json.loads(text), dict)
    except (TypeError, ValueError):
        return False


def estimate(body):
    """Input tokens: words of the whole request, the same for each dialect's test."""
    return max(1, len(json.dumps(body, ensure_ascii=False).split()))


def question(contents):
    """The user's question: the last text that is not the model's own reasoning sent back. A content
    is a text or a list of parts; each part is examined separately."""
    texts = []
    for content in contents:
        parts = [content] if isinstance(content, str) else content or []
        texts += [p if isinstance(p, str) else p.get("text") or "" for p in parts]
    own = [t for t in texts if t and MARK not in t]
    return own[-1] if own else next(iter(texts), "").partition("\n")[0]
