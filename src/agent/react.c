/* react.c - Thought, Action and Action Input read from text, as models write them.
 *
 * A label is at the beginning of a line, in any letter case, perhaps with a number ("Action 2:")
 * and in bold or as a heading. Its text extends to the next label. An observation that the model
 * made up ends the reading: the real one comes later.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/react.h"
#include "base/json_loose.h"

enum label { LABEL_NONE, LABEL_THOUGHT, LABEL_ACTION, LABEL_INPUT, LABEL_ANSWER, LABEL_SEEN };

static const struct {
    const char *word;
    enum label label;
} labels[] = {{"thought", LABEL_THOUGHT},
              {"thinking", LABEL_THOUGHT},
              {"action input", LABEL_INPUT},
              {"action_input", LABEL_INPUT},
              {"actioninput", LABEL_INPUT},
              {"input", LABEL_INPUT},
              {"arguments", LABEL_INPUT},
              {"action", LABEL_ACTION},
              {"tool", LABEL_ACTION},
              {"final answer", LABEL_ANSWER},
              {"final_answer", LABEL_ANSWER},
              {"finalanswer", LABEL_ANSWER},
              {"observation", LABEL_SEEN}};

static bool agent_is_frame(char c)
{
    return c == '*' || c == '_' || c == '#' || c == '>' || c == ' ' || c == '\t' || c == '`';
}

/* Whether a label begins the line; *skip is the size before its text. */
static enum label agent_react_label_of(str line, size_t *skip)
{
    size_t from = 0, at;

    while (from < line.n && agent_is_frame(line.p[from]))
        from++;
    for (size_t i = 0; i < COUNT_OF(labels); i++) {
        size_t n = strlen(labels[i].word);

        if (line.n - from < n || strncasecmp(line.p + from, labels[i].word, n) != 0)
            continue;
        at = from + n;
        while (at < line.n &&
               (agent_is_frame(line.p[at]) || (line.p[at] >= '0' && line.p[at] <= '9')))
            at++;
        if (at >= line.n || line.p[at] != ':')
            continue;
        at++;
        while (at < line.n && (line.p[at] == '*' || line.p[at] == '_'))
            at++;
        *skip = at;
        return labels[i].label;
    }
    return LABEL_NONE;
}

static str agent_react_next_line(str s, size_t at)
{
    assert(at < s.n);
    const char *end = memchr(s.p + at, '\n', s.n - at);

    return (str){s.p + at, end ? (size_t)(end - s.p) - at + 1 : s.n - at};
}

/* Removes the wrapping of a name: quotes, backticks, brackets of a call. */
static str agent_bare_name(str s)
{
    s = str_trim(str_slice(str_trim(s), 0, str_find(str_trim(s), STR("\n"))));
    while (s.n && strchr("`\"'*[ ", s.p[0]))
        s = str_slice(s, 1, s.n);
    while (s.n && strchr("`\"'*]. ", s.p[s.n - 1]))
        s = str_slice(s, 0, s.n - 1);
    return s;
}

static str agent_react_input_of(str said, struct arena *a)
{
    struct buf out;
    struct err e;
    str text = str_trim(said);

    if (!text.n || str_eq(text, STR("None")) || str_eq(text, STR("null")))
        return STR("{}");
    buf_init(&out, 6 * text.n + 64);
    if (json_loose(text, json_loose_object, NULL, &out, &e))
        text = arena_dup(a, buf_str(&out));
    buf_release(&out);
    return text;
}

/* NAME(ARGUMENTS) or NAME {ARGUMENTS} in one line. */
static void agent_split_call(struct react_reply *r, struct arena *a)
{
    size_t at = 0;

    while (at < r->action.n && r->action.p[at] != '(' && r->action.p[at] != '{' &&
           r->action.p[at] != '\n')
        at++;
    if (at < r->action.n && r->action.p[at] != '\n' && !r->input.n)
        r->input = agent_react_input_of(str_slice(r->action, at, r->action.n), a);
    r->action = agent_bare_name(str_slice(r->action, 0, at));
}

static bool agent_says_finish(str name)
{
    static const char *const words[] = {"finish", "final answer", "none", "n/a", "final_answer"};

    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (name.n == strlen(words[i]) && strncasecmp(name.p, words[i], name.n) == 0)
            return true;
    return false;
}

static void agent_react_settle(struct react_reply *r, str input, struct arena *a)
{
    r->input = r->input.n ? agent_react_input_of(r->input, a) : STR("");
    agent_split_call(r, a);
    if (agent_says_finish(r->action)) {
        r->has_action = false;
        if (!r->has_answer && str_trim(input).n) {
            r->has_answer = true;
            r->answer = str_trim(input);
        }
    } else if (r->has_action && !r->input.n) {
        r->input = STR("{}");
    }
}

void react_read(str said, struct arena *a, struct react_reply *out)
{
    str *part = NULL, raw_input = STR("");
    bool over = false;

    *out = (struct react_reply){STR(""), STR(""), STR(""), STR(""), false, false};
    for (size_t at = 0; at < said.n && !over;) {
        str line = agent_react_next_line(said, at);
        size_t skip = 0;
        enum label label = out->has_answer ? LABEL_NONE : agent_react_label_of(line, &skip);

        assert(line.n > 0 && skip <= line.n);
        over = label == LABEL_SEEN || (out->has_action && label == LABEL_ACTION) ||
               (out->has_action && (label == LABEL_ANSWER || label == LABEL_THOUGHT));
        if (over)
            break;
        if (label == LABEL_THOUGHT && !out->thought.n)
            part = &out->thought;
        else if (label == LABEL_ACTION) {
            part = &out->action;
            out->has_action = true;
        } else if (label == LABEL_INPUT && out->has_action)
            part = &raw_input;
        else if (label == LABEL_ANSWER) {
            part = &out->answer;
            out->has_answer = true;
        }
        if (!part) /* text before the first label is also a thought */
            part = &out->thought;
        assert(part->n == 0 || part->p < line.p);
        if (!part->n)
            *part = str_slice(line, skip, line.n);
        else
            part->n = (size_t)(line.p + line.n - part->p);
        at += line.n;
    }
    out->thought = str_trim(out->thought);
    out->answer = str_trim(out->answer);
    out->action = str_trim(out->action);
    out->input = str_trim(raw_input);
    if (out->has_action)
        agent_react_settle(out, raw_input, a);
}
