/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls in tags that look like XML and are not: text within is as the model means it, with no
 * escapes (MiniCPM5 alone has entities and CDATA). Three ways to write a call, between tags that
 * only frame them (<tool_call>, <minimax:tool_call>, <｜DSML｜function_calls>, ...):
 *
 *     <function=f> or <function name="f"> or <invoke name="f">, each with a prefix or not
 *         <parameter=k> or <param name="k"> or <parameter name="k">, value, its close tag
 *     f, perhaps <tool_sep>, then <arg_key>k</arg_key> <arg_value>value</arg_value> (GLM, Hy3)
 *     JSON
 *
 * A missing close tag is tolerated where the next tag would be impossible otherwise. At the end of
 * the text it is not: a parameter may be missing there, too.
 */
#include "split/calls/internal.h"

#define TAG_SIZE_MAX 1024
#define FRAME_SIZE_MAX 32 /* of the name of a tag that only frames */
#define CDATA STR("<![CDATA[")
#define BAR STR("｜")

struct tag {
    str inside;      /* all between < or </ and > */
    str name, value; /* of <name=value>; value is empty if there is none */
    str attrs;
    size_t size;
    bool close, empty; /* </name>, <name/> */
};

/* The spelling of calls is that of the first one in the block. */
struct spelling {
    str prefix;
    struct calls_find param_open, param_close, call_close, cdata_end;
    unsigned flags; /* enum calls_value_flags */
    bool known, entities;
};

struct tags {
    struct calls *c;
    struct spelling s;
    struct calls_find key_end, value_end, outer_end;
    bool inside; /* of a <tool_call> */
    bool fresh;  /* and nothing was read there yet */
};

/* The position of a tag's >, ignoring those in quotes; 0 if there is none. */
static size_t tag_end(str s)
{
    char quote = '\0';

    for (size_t i = 1; i < s.n && i < TAG_SIZE_MAX; i++) {
        char ch = s.p[i];

        if (quote) {
            quote = ch == quote ? '\0' : quote;
        } else if ((ch == '"' || ch == '\'') && s.p[i - 1] == '=') {
            quote = ch;
        } else if (ch == '>') {
            return i;
        } else if (ch == '<' || ch == '\n') {
            return 0;
        }
    }
    return 0;
}

static str calls_tags_strip_quotes(str s)
{
    s = str_trim(s);
    if (s.n >= 2 && (s.p[0] == '"' || s.p[0] == '\'') && s.p[s.n - 1] == s.p[0])
        return str_slice(s, 1, s.n - 1);
    return s;
}

static bool tag_at(str s, struct tag *t)
{
    size_t end = s.n > 0 && s.p[0] == '<' ? tag_end(s) : 0, n = 0;
    str in;

    if (end == 0)
        return false;
    *t = (struct tag){.size = end + 1, .close = s.p[1] == '/', .value = STR(""), .attrs = STR("")};
    in = str_trim(str_slice(s, t->close ? 2 : 1, end));
    t->inside = in;
    t->empty = !t->close && in.n > 1 && in.p[in.n - 1] == '/';
    in.n -= t->empty;
    while (n < in.n && !char_is_json_space(in.p[n]) && in.p[n] != '=')
        n++;
    t->name = str_slice(in, 0, n);
    in = str_trim(str_slice(in, n, in.n));
    assert(t->size >= 2 && t->size <= s.n);
    if (in.n > 0 && in.p[0] == '=')
        t->value = calls_tags_strip_quotes(str_slice(in, 1, in.n));
    else
        t->attrs = in;
    return n > 0;
}

static bool tag_here(const struct calls *c, struct tag *t)
{
    return tag_at(calls_rest(c), t);
}

static str calls_tags_lower(str s, char out[FRAME_SIZE_MAX])
{
    s = str_slice(s, 0, FRAME_SIZE_MAX);
    for (size_t i = 0; i < s.n; i++)
        out[i] = (char)(s.p[i] >= 'A' && s.p[i] <= 'Z' ? s.p[i] - 'A' + 'a' : s.p[i]);
    return (str){out, s.n};
}

/* Whether a name is `want` but for a prefix: "", "atem:", "｜DSML｜". */
static bool calls_name_is(str name, str want, str *prefix)
{
    if (!str_ends(name, want))
        return false;
    *prefix = str_slice(name, 0, name.n - want.n);
    return prefix->n == 0 || str_ends(*prefix, STR(":")) || str_ends(*prefix, BAR) ||
           str_ends(*prefix, STR("|"));
}

/* Whether a name is `want`, or `want` with a suffix of Hy3: "arg_key", "arg_key:x". */
static bool calls_name_begins(str name, str want)
{
    return str_starts(name, want) && (name.n == want.n || name.p[want.n] == ':');
}

/* Tags that only frame calls: tool_call, tool_calls, TOOLCALL, seed:tool_call, tool_calls:x. */
static bool calls_is_outer(const struct tag *t)
{
    static const char *const names[] = {
        "tool_call",
        "tool_calls",
        "toolcall",
        "function_call",
        "function_calls",
        "dots_function_call",
    };
    char bytes[FRAME_SIZE_MAX];
    str name = calls_tags_lower(t->name, bytes), prefix;

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (calls_name_begins(name, str_c(names[i])) ||
            calls_name_is(name, str_c(names[i]), &prefix))
            return true;
    return false;
}

/* The name that a call or parameter tag carries; a tag without one is no such tag. */
static bool calls_tags_named(struct tag *t, str *out)
{
    *out = t->value;
    return !t->close && (out->n > 0 || calls_attr(t->attrs, STR("name"), out)) && out->n > 0;
}

static str calls_tags_joined(struct calls *c, str a, str b, str d)
{
    return arena_printf(c->arena, STR_FMT STR_FMT STR_FMT, STR_ARG(a), STR_ARG(b), STR_ARG(d));
}

static void calls_tags_learn(struct tags *g, const struct tag *t, str call, str prefix)
{
    struct spelling *s = &g->s;
    struct calls *c = g->c;

    assert(!s->known && call.n > 0);
    s->known = true;
    s->prefix = prefix;
    s->param_open.needle = calls_tags_joined(c, STR("<"), prefix, STR("param"));
    s->param_close.needle = calls_tags_joined(c, STR("</"), prefix, STR("param"));
    s->call_close.needle = calls_tags_joined(c, STR("</"), prefix, call);
    s->cdata_end.needle = STR("]]>");
    if (prefix.n == 0)
        s->flags = CALLS_NEWLINES;
    if (str_starts(call, STR("function")))
        s->flags |= CALLS_PYTHON;
    s->entities = str_starts(call, STR("function")) && t->value.n == 0;
    c->end = s->call_close;
}

static bool calls_tags_is_call(struct tags *g, struct tag *t, str *name)
{
    static const char *const calls[] = {"invoke", "function", "functionname"};
    str prefix;

    if (!calls_tags_named(t, name))
        return false;
    for (size_t i = 0; i < COUNT_OF(calls); i++)
        if (calls_name_is(t->name, str_c(calls[i]), &prefix)) {
            if (!g->s.known)
                calls_tags_learn(g, t, str_slice(t->name, prefix.n, t->name.n), prefix);
            return str_eq(g->s.prefix, prefix);
        }
    return false;
}

static bool calls_is_call_close(const struct tags *g, const struct tag *t)
{
    str prefix;

    return t->close &&
           (calls_name_is(t->name, STR("invoke"), &prefix) ||
            calls_name_is(t->name, STR("function"), &prefix)) &&
           str_eq(prefix, g->s.prefix);
}

static bool calls_is_param(const struct tags *g, const struct tag *t)
{
    str prefix;

    return (calls_name_is(t->name, STR("parameter"), &prefix) ||
            calls_name_is(t->name, STR("param"), &prefix) ||
            calls_name_is(t->name, STR("paramname"), &prefix)) &&
           str_eq(prefix, g->s.prefix);
}

static bool tag_from(const struct tags *g, size_t at, struct tag *t)
{
    return tag_at(str_slice(g->c->raw, at, g->c->raw.n), t);
}

/* The next place of the finder's needle where it fits, before `max`; else `max`. */
static size_t calls_seek_fit(struct tags *g, struct calls_find *f, size_t from, size_t max,
                             bool (*fits)(struct tags *, size_t at))
{
    size_t at = calls_seek(g->c, f, from);

    assert(from <= max && max <= g->c->raw.n);
    while (at < max && !fits(g, at))
        at = calls_seek(g->c, f, at + 1);
    f->from = from; /* the skipped text fits at no start */
    return at < max ? at : max;
}

static bool fits_param_close(struct tags *g, size_t at)
{
    struct tag t;

    return tag_from(g, at, &t) && calls_is_param(g, &t);
}

/* A parameter that begins a line ends one that was not closed. */
static bool fits_param_open(struct tags *g, size_t at)
{
    struct tag t;
    str name;

    assert(at > 0); /* after the tag that opens the call */
    return g->c->raw.p[at - 1] == '\n' && tag_from(g, at, &t) && calls_is_param(g, &t) &&
           calls_tags_named(&t, &name);
}

/* So does the end of the call, if nothing but frames and calls follow. */
static bool fits_call_close(struct tags *g, size_t at)
{
    const str raw = g->c->raw;
    size_t next;
    struct tag t;
    str name;

    if (!tag_from(g, at, &t) || !calls_is_call_close(g, &t))
        return false;
    next = at + t.size;
    while (next < raw.n && next - at < TAG_SIZE_MAX && char_is_json_space(raw.p[next]))
        next++;
    return tag_from(g, next, &t) && (calls_is_outer(&t) || calls_tags_is_call(g, &t, &name));
}

/* A value in CDATA is a string, and what closes it is only that. */
static bool calls_read_cdata(struct tags *g, str key)
{
    struct calls *c = g->c;
    size_t from = c->at, at = calls_seek(c, &g->s.cdata_end, from);
    struct tag t;

    c->at = at;
    if (!calls_eat(c, g->s.cdata_end.needle))
        return false;
    json_out_key(&c->out, key);
    json_out_str(&c->out, str_slice(c->raw, from, at));
    calls_space(c);
    if (!tag_here(c, &t) || !t.close || !calls_is_param(g, &t))
        return false;
    c->at += t.size;
    return true;
}

/* A type said in the tag (DSML: string="true") counts; else the text decides. */
static bool calls_tags_write_value(struct tags *g, const struct tag *open, str text)
{
    struct calls *c = g->c;
    str is_string = STR("");

    calls_attr(open->attrs, STR("string"), &is_string);
    if (g->s.entities)
        text = calls_unescape(c, text);
    if (str_eq(is_string, STR("true"))) {
        json_out_str(&c->out, text);
    } else if (str_eq(is_string, STR("false"))) {
        struct err e;

        if (json_parse(&c->inner, text, &e))
            json_out_raw(&c->out, str_trim(text));
        else if (calls_is_one_of(calls_peek(&(struct calls){.raw = str_trim(text)}), "{["))
            return false;
        else
            json_out_str(&c->out, text);
    } else {
        calls_value(c, text, g->s.flags);
    }
    return true;
}

/* The cursor is after the tag that opens the parameter; false if the parameter is cut. */
static bool calls_read_param(struct tags *g, const struct tag *open, str key)
{
    struct calls *c = g->c;
    size_t from = c->at, end;
    struct tag t;

    if (g->s.entities && calls_eat(c, CDATA))
        return calls_read_cdata(g, key);
    end = calls_seek_fit(g, &g->s.param_close, from, c->raw.n, fits_param_close);
    end = calls_seek_fit(g, &g->s.param_open, from, end, fits_param_open);
    end = calls_seek_fit(g, &g->s.call_close, from, end, fits_call_close);
    assert(from <= end);
    c->at = end;
    if (end == c->raw.n)
        return false;
    json_out_key(&c->out, key);
    if (!calls_tags_write_value(g, open, str_slice(c->raw, from, end)))
        return false;
    if (tag_here(c, &t) && t.close && calls_is_param(g, &t))
        c->at += t.size;
    return true;
}

/* Whether the tag after a body without a close tag can only be a new call or a frame. */
static bool calls_ends_call(struct tags *g, struct tag *t)
{
    str name;

    return calls_is_outer(t) || calls_tags_is_call(g, t, &name);
}

/* Arguments as one JSON object instead of parameters. */
static void calls_read_json_body(struct tags *g, str name)
{
    struct calls *c = g->c;
    str arguments;
    struct tag t;

    assert(calls_peek(c) == '{');
    if (!calls_arguments(c, &arguments))
        return;
    calls_space(c);
    if (!tag_here(c, &t) || !(calls_is_call_close(g, &t) || calls_ends_call(g, &t))) {
        calls_doubt(c);
        return;
    }
    c->at += calls_is_call_close(g, &t) ? t.size : 0;
    calls_give(c, name, arguments);
}

/* The cursor is after the tag that opens the call. */
static void calls_tags_read_call(struct tags *g, const struct tag *open, str name)
{
    struct calls *c = g->c;
    bool good = true, closed = open->empty;
    struct tag t;
    str key;

    calls_make(c);
    calls_space(c);
    if (!closed && calls_peek(c) == '{') {
        calls_read_json_body(g, name);
        return;
    }
    while (good && !closed && (calls_space(c), tag_here(c, &t))) {
        if (calls_is_param(g, &t) && calls_tags_named(&t, &key)) {
            c->at += t.size;
            good = calls_read_param(g, &t, g->s.entities ? calls_unescape(c, key) : key);
        } else if (calls_is_call_close(g, &t)) {
            c->at += t.size;
            closed = true;
        } else if (calls_ends_call(g, &t)) {
            closed = true;
        } else if (str_eq(t.name, STR("arguments"))) {
            c->at += t.size;
        } else {
            break;
        }
    }
    if (good && closed) {
        calls_finish_object(c, name);
    } else {
        calls_doubt(c);
        c->at = calls_seek(c, &g->s.call_close, c->at);
    }
}

static bool fits_key_end(struct tags *g, size_t at)
{
    struct tag t;

    return tag_from(g, at, &t) && calls_name_begins(t.name, STR("arg_key"));
}

static bool fits_value_end(struct tags *g, size_t at)
{
    struct tag t;

    return tag_from(g, at, &t) && calls_name_begins(t.name, STR("arg_value"));
}

static bool fits_outer_end(struct tags *g, size_t at)
{
    struct tag t;

    return tag_from(g, at, &t) && calls_is_outer(&t);
}

/* <arg_key>k</arg_key> */
static bool calls_read_arg_key(struct tags *g, str *out)
{
    struct calls *c = g->c;
    size_t from, at;
    struct tag t;

    if (!tag_here(c, &t) || t.close || !calls_name_begins(t.name, STR("arg_key")))
        return false;
    from = c->at + t.size;
    at = calls_seek_fit(g, &g->key_end, from, c->raw.n, fits_key_end);
    *out = str_trim(str_slice(c->raw, from, at));
    if (at == c->raw.n || at > calls_seek(c, &g->outer_end, from))
        return false;
    c->at = at;
    return tag_here(c, &t) && (c->at += t.size);
}

/* <arg_value>v</arg_value>; the end of the call ends a value too. */
static bool calls_read_arg_value(struct tags *g, str *out)
{
    struct calls *c = g->c;
    size_t from, at, outer;
    struct tag t;

    calls_space(c);
    if (!tag_here(c, &t) || t.close || !calls_name_begins(t.name, STR("arg_value")))
        return false;
    from = c->at + t.size;
    outer = calls_seek_fit(g, &g->outer_end, from, c->raw.n, fits_outer_end);
    at = calls_seek_fit(g, &g->value_end, from, outer, fits_value_end);
    *out = str_slice(c->raw, from, at);
    c->at = at;
    if (at < outer && tag_here(c, &t))
        c->at += t.size;
    return at < c->raw.n;
}

static bool calls_read_args(struct tags *g)
{
    struct calls *c = g->c;
    str key, value;
    struct tag t;

    while (calls_space(c), tag_here(c, &t) && !calls_is_outer(&t)) {
        if (!calls_read_arg_key(g, &key) || !calls_read_arg_value(g, &value))
            return false;
        json_out_key(&c->out, key);
        calls_value(c, value, 0);
    }
    return tag_here(c, &t) && calls_is_outer(&t);
}

/* GLM and Hy3: the cursor is at the name. */
static void calls_tags_read_bare(struct tags *g)
{
    struct calls *c = g->c;
    size_t from = c->at;
    struct tag t;
    str name, arguments;

    while (!calls_done(c) && !calls_is_one_of(calls_peek(c), "<{\n"))
        c->at++;
    name = str_trim(str_slice(c->raw, from, c->at));
    calls_space(c);
    if (tag_here(c, &t) && calls_name_begins(t.name, STR("tool_sep")))
        c->at += t.size;
    calls_make(c);
    if (calls_is_bare(name) && calls_peek(c) == '{') {
        if (calls_arguments(c, &arguments) && calls_read_args(g)) {
            calls_give(c, name, arguments);
            return;
        }
    } else if (calls_is_bare(name) && calls_read_args(g)) {
        calls_finish_object(c, name);
        return;
    }
    calls_doubt(c);
    c->spoilt = true;
    c->at = calls_seek(c, &g->outer_end, c->at);
}

/* In a block that is spoilt only the tag that opens the next one counts. */
static void calls_read_tag(struct tags *g, struct tag *t)
{
    struct calls *c = g->c;
    str name;

    assert(t->size <= c->raw.n - c->at && t->inside.n > 0);
    c->at += t->size;
    if (calls_is_outer(t)) {
        g->inside = g->fresh = !t->close;
        c->spoilt = c->spoilt && t->close;
    } else if (!c->spoilt && calls_tags_is_call(g, t, &name)) {
        g->fresh = false;
        calls_tags_read_call(g, t, name);
    } else if (t->inside.p[0] != '|') {
        calls_doubt(c);
    }
}

/* Text between tags: calls as JSON, or the name of one. */
static void calls_tags_read_text(struct tags *g)
{
    struct calls *c = g->c;
    bool fresh = g->fresh;

    g->fresh = false;
    if (g->inside && !c->spoilt && calls_json_step(c))
        return;
    if (fresh && calls_is_bare(str_slice(c->raw, c->at, c->at + 1))) {
        calls_tags_read_bare(g);
        return;
    }
    calls_doubt(c);
    c->at++;
    while (!calls_done(c) && calls_peek(c) != '<')
        c->at++;
}

void calls_tags(struct calls *c)
{
    struct tags g = {
        .c = c,
        .key_end.needle = STR("</arg_key"),
        .value_end.needle = STR("</arg_value"),
        .outer_end.needle = STR("</tool_call"),
    };
    struct tag t;

    if (str_find(c->raw, STR("]<]minimax[>[")) != STR_NONE) {
        calls_m3(c);
        return;
    }
    c->end.needle = STR("</");
    while (calls_space(c), !calls_done(c)) {
        size_t was = c->at;

        if (tag_here(c, &t))
            calls_read_tag(&g, &t);
        else
            calls_tags_read_text(&g);
        assert(c->at > was); /* each step reads something */
    }
}
