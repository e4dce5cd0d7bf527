/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls between special tokens, with JSON for arguments: Harmony, DeepSeek, Kimi K2, Solar and
 * Mistral. The end of the JSON is found by its brackets, so that a marker within a string of it is
 * text; only after brackets that never close are markers trusted more.
 */
#include "split/calls/internal.h"

#define FUNCTIONS STR("functions.")

struct marks {
    str begin, sep, end;
    /* The name in the text between begin and sep; the cursor is after sep. */
    str (*name)(struct calls *c, str header);
};

/* Moves to the next begin, or to the end, and then returns false. The text between is framing, or
 * unknown. */
static bool calls_to_begin(struct calls *c, struct calls_find *begin)
{
    size_t at = calls_seek(c, begin, c->at);

    assert(begin->needle.n > 0);
    calls_framing(c, at);
    return calls_eat(c, begin->needle);
}

static void calls_read_marked(struct calls *c, const struct marks *m)
{
    struct calls_find begin = {.needle = m->begin}, sep = {.needle = m->sep};

    assert(m->sep.n > 0 && m->end.n > 0);
    c->end.needle = m->end;
    while (calls_to_begin(c, &begin)) {
        size_t from = c->at, at = calls_seek(c, &sep, from);
        str name, arguments;

        if (at == c->raw.n || at > calls_seek(c, &begin, from) ||
            at > calls_seek(c, &c->end, from)) {
            calls_doubt(c);
            continue;
        }
        c->at = at + m->sep.n;
        name = m->name(c, str_trim(str_slice(c->raw, from, at)));
        if (!calls_arguments(c, &arguments))
            continue;
        if (calls_is_bare(name))
            calls_give(c, name, arguments);
        else
            calls_doubt(c);
        calls_space(c);
        calls_eat(c, STR("```"));
    }
}

/* NAME, sep, {...}; or "function", sep, NAME, and the JSON in a fence. */
static str calls_deepseek_name(struct calls *c, str header)
{
    size_t from;

    calls_space(c);
    if (calls_peek(c) == '{' || !str_eq(header, STR("function")))
        return header;
    from = c->at;
    while (!calls_done(c) && !char_is_json_space(calls_peek(c)) &&
           !calls_is_one_of(calls_peek(c), "{<`"))
        c->at++;
    header = str_slice(c->raw, from, c->at);
    calls_space(c);
    if (calls_eat(c, STR("```")))
        calls_eat(c, STR("json"));
    return header;
}

void calls_marked_deepseek(struct calls *c)
{
    /* The same tokens as they are, and as servers that undo the tokenizer's signs write them. */
    static const struct marks spellings[] = {
        {
            {"<｜tool▁call▁begin｜>", sizeof "<｜tool▁call▁begin｜>" - 1},
            {"<｜tool▁sep｜>", sizeof "<｜tool▁sep｜>" - 1},
            {"<｜tool▁call▁end｜>", sizeof "<｜tool▁call▁end｜>" - 1},
            calls_deepseek_name,
        },
        {
            {"<｜tool_call_begin｜>", sizeof "<｜tool_call_begin｜>" - 1},
            {"<｜tool_sep｜>", sizeof "<｜tool_sep｜>" - 1},
            {"<｜tool_call_end｜>", sizeof "<｜tool_call_end｜>" - 1},
            calls_deepseek_name,
        },
    };
    size_t i = str_find(c->raw, spellings[1].begin) != STR_NONE &&
               str_find(c->raw, spellings[0].begin) == STR_NONE;

    calls_read_marked(c, &spellings[i]);
}

/* functions.NAME:INDEX; a model may omit the prefix or the index. */
static str calls_kimi_name(struct calls *c, str header)
{
    size_t n = header.n;

    (void)c;
    while (n > 0 && header.p[n - 1] >= '0' && header.p[n - 1] <= '9')
        n--;
    if (n > 0 && n < header.n && header.p[n - 1] == ':')
        header.n = n - 1;
    return str_starts(header, FUNCTIONS) ? str_slice(header, FUNCTIONS.n, header.n) : header;
}

void calls_marked_kimi(struct calls *c)
{
    calls_read_marked(c,
                      &(struct marks){
                          STR("<|tool_call_begin|>"),
                          STR("<|tool_call_argument_begin|>"),
                          STR("<|tool_call_end|>"),
                          calls_kimi_name,
                      });
}

/* ID, a marker, NAME. */
static str calls_solar_name(struct calls *c, str header)
{
    const str mark = STR("<|tool_call:name|>");
    size_t at = str_find(header, mark);

    (void)c;
    return at == STR_NONE ? STR("") : str_trim(str_slice(header, at + mark.n, header.n));
}

void calls_marked_solar(struct calls *c)
{
    calls_space(c);
    if (calls_eat(c, STR("<|begin|>")))
        calls_eat(c, STR("assistant"));
    calls_read_marked(c,
                      &(struct marks){
                          STR("<|tool_call:begin|>"),
                          STR("<|tool_call:args|>"),
                          STR("<|tool_call:end|>"),
                          calls_solar_name,
                      });
}

/* NAME[ARGS]{...} or NAME[CALL_ID]id[ARGS]{...} or NAME{...}; the cursor is at the name. */
static bool calls_mistral_call(struct calls *c, struct calls_find *args)
{
    size_t from = c->at;
    str name, arguments;

    assert(!calls_done(c));
    while (!calls_done(c) && c->at - from <= SPLIT_CALL_NAME_MAX &&
           !calls_is_one_of(calls_peek(c), "[{<\n"))
        c->at++;
    name = str_trim(str_slice(c->raw, from, c->at));
    if (calls_eat(c, STR("[CALL_ID]")))
        c->at = calls_seek(c, args, c->at);
    if (!calls_is_bare(name) || (!calls_eat(c, args->needle) && calls_peek(c) != '{'))
        return false;
    calls_space(c);
    if (calls_peek(c) != '{')
        return false;
    if (calls_arguments(c, &arguments))
        calls_give(c, name, arguments);
    return true;
}

void calls_mistral(struct calls *c)
{
    struct calls_find args = {.needle = STR("[ARGS]")};

    c->end.needle = STR("[TOOL_CALLS]");
    while (calls_space(c), !calls_done(c)) {
        size_t was = c->at;

        if (calls_eat(c, c->end.needle) || calls_eat_mark(c) || calls_json_step(c))
            continue;
        if (!calls_mistral_call(c, &args)) {
            calls_doubt(c);
            c->at = calls_seek(c, &c->end, c->at);
        }
        assert(c->at > was); /* each step reads something */
    }
}

/* Skips the header if it was not read yet; it may name the recipient. */
static str body_recipient(struct calls *c, str recipient)
{
    str rest = str_trim(calls_rest(c)), header;
    size_t at = str_find(rest, STR("<|message|>"));
    size_t to;

    if (at == STR_NONE || !(str_starts(rest, STR("<|start|>")) ||
                            str_starts(rest, STR("<|channel|>")) || str_starts(rest, STR("to="))))
        return recipient;
    header = str_slice(rest, 0, at);
    c->at = (size_t)(rest.p - c->raw.p) + at + STR("<|message|>").n;
    to = str_find(header, STR("to="));
    return recipient.n == 0 && to != STR_NONE ? str_slice(header, to + 3, at) : recipient;
}

static str body_text(str text)
{
    static const str ends[] = {
        {"<|call|>", 8},
        {"<|end|>", 7},
        {"<|return|>", 10},
    };

    text = str_trim(text);
    for (size_t i = 0; i < COUNT_OF(ends); i++)
        if (str_ends(text, ends[i]))
            return str_trim(str_slice(text, 0, text.n - ends[i].n));
    return text;
}

void calls_body(struct calls *c)
{
    str name = str_trim(body_recipient(c, c->recipient)), text = body_text(calls_rest(c));
    size_t n = 0;

    while (n < name.n && !char_is_json_space(name.p[n]) && name.p[n] != '<')
        n++;
    name.n = n;
    if (str_starts(name, FUNCTIONS))
        name = str_slice(name, FUNCTIONS.n, name.n);
    if (!calls_is_bare(name)) {
        calls_doubt(c);
    } else if (text.n == 0) {
        calls_give(c, name, STR("{}"));
    } else if (text.p[0] == '{') {
        if (calls_json_parse(c, &c->doc, text))
            calls_give(c, name, json_raw(&c->doc, json_root(&c->doc)));
        else
            calls_doubt(c);
    } else {
        calls_make(c);
        json_member_str(&c->out, "input", text);
        calls_finish_object(c, name);
    }
}
