/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"
#include "split/calls/internal.h"

/* A byte of markup becomes at most six of JSON (\u0001), and a marker is longer than the
 * punctuation that takes its place. */
#define MADE_SIZE_MAX(n) (8 * (n) + 1024)

bool calls_is_one_of(char ch, const char *set)
{
    return ch != '\0' && strchr(set, ch);
}

str calls_rest(const struct calls *c)
{
    return str_slice(c->raw, c->at, c->raw.n);
}

bool calls_done(const struct calls *c)
{
    return c->at >= c->raw.n;
}

char calls_peek(const struct calls *c)
{
    return calls_done(c) ? '\0' : c->raw.p[c->at];
}

void calls_space(struct calls *c)
{
    while (!calls_done(c) && char_is_json_space(c->raw.p[c->at]))
        c->at++;
}

bool calls_eat(struct calls *c, str text)
{
    if (!str_starts(calls_rest(c), text))
        return false;
    assert(text.n <= c->raw.n - c->at);
    c->at += text.n;
    return true;
}

void calls_doubt(struct calls *c)
{
    c->doubt = true;
}

bool calls_eat_mark(struct calls *c)
{
    str rest = calls_rest(c);

    if (rest.n < 3 || rest.p[0] != '<')
        return false;
    for (size_t i = 1; i < rest.n && i < CALLS_MARK_MAX; i++) {
        char ch = rest.p[i];

        if (ch == '>' && i > 1) {
            c->at += i + 1;
            return true;
        }
        if (ch == '>' || ch == '<' || ch == '{' || ch == '"' || ch == '\n')
            return false;
    }
    return false;
}

void calls_framing(struct calls *c, size_t to)
{
    assert(to <= c->raw.n);
    while (calls_space(c), c->at < to)
        if (!calls_eat_mark(c)) {
            calls_doubt(c);
            break;
        }
    c->at = to;
}

size_t calls_seek(const struct calls *c, struct calls_find *f, size_t from)
{
    size_t hit;

    assert(from <= c->raw.n);
    if (f->known && f->from <= from && from <= f->at)
        return f->at;
    hit = f->needle.n ? str_find(str_slice(c->raw, from, c->raw.n), f->needle) : STR_NONE;
    f->known = true;
    f->from = from;
    f->at = hit == STR_NONE ? c->raw.n : from + hit;
    return f->at;
}

bool calls_is_bare(str name)
{
    for (size_t i = 0; i < name.n; i++)
        if ((unsigned char)name.p[i] <= ' ' || calls_is_one_of(name.p[i], "<>{}[]()\"'`,;=|\\"))
            return false;
    return name.n > 0;
}

bool calls_is_tag(str inside, str name)
{
    return str_starts(inside, name) && (inside.n == name.n || char_is_json_space(inside.p[name.n]));
}

bool calls_attr(str attrs, str key, str *out)
{
    size_t i = 0;

    while (i < attrs.n) {
        size_t key_at, key_end, from;
        char quote;

        while (i < attrs.n && char_is_json_space(attrs.p[i]))
            i++;
        key_at = i;
        while (i < attrs.n && !char_is_json_space(attrs.p[i]) && attrs.p[i] != '=')
            i++;
        key_end = i;
        while (i < attrs.n && char_is_json_space(attrs.p[i]))
            i++;
        if (i == attrs.n || attrs.p[i] != '=')
            continue;
        i++;
        while (i < attrs.n && char_is_json_space(attrs.p[i]))
            i++;
        quote = i < attrs.n && (attrs.p[i] == '"' || attrs.p[i] == '\'') ? attrs.p[i++] : '\0';
        from = i;
        while (i < attrs.n && (quote ? attrs.p[i] != quote : !char_is_json_space(attrs.p[i])))
            i++;
        if (str_eq(str_slice(attrs, key_at, key_end), key)) {
            *out = str_slice(attrs, from, i);
            return true;
        }
        i += quote && i < attrs.n;
    }
    return false;
}

str calls_unescape(struct calls *c, str text)
{
    static const struct {
        str name;
        char ch;
    } entities[] = {
        {{"&lt;", 4}, '<'},
        {{"&gt;", 4}, '>'},
        {{"&amp;", 5}, '&'},
        {{"&quot;", 6}, '"'},
        {{"&apos;", 6}, '\''},
    };
    size_t n = 0;
    char *p;

    if (!memchr(text.p, '&', text.n))
        return text;
    p = arena_alloc(c->arena, text.n);
    for (size_t i = 0; i < text.n;) {
        str rest = str_slice(text, i, text.n);
        size_t e = 0;

        while (e < COUNT_OF(entities) && !str_starts(rest, entities[e].name))
            e++;
        p[n++] = e < COUNT_OF(entities) ? entities[e].ch : rest.p[0];
        i += e < COUNT_OF(entities) ? entities[e].name.n : 1;
    }
    return (str){p, n};
}

void calls_give(struct calls *c, str name, str arguments)
{
    struct split_call call = {str_trim(name), arguments};
    bool good = call.name.n > 0 && call.name.n <= SPLIT_CALL_NAME_MAX && utf8_valid(call.name);

    for (size_t i = 0; good && i < call.name.n; i++)
        good = (unsigned char)call.name.p[i] >= ' ' && call.name.p[i] != 0x7f;
    if (!good) {
        calls_doubt(c);
        return;
    }
    c->given++;
    c->sink.on_call(c->sink.ctx, &call);
}

void calls_make(struct calls *c)
{
    buf_reset(&c->made);
    json_out_init_object(&c->out, &c->made);
}

/* The result is parsed again: a value that was valid alone may be nested too deep now. */
void calls_finish_object(struct calls *c, str name)
{
    struct err e;

    json_out_end(&c->out);
    if (json_out_ok(&c->out, &e) && json_parse(&c->inner, buf_str(&c->made), &e))
        calls_give(c, name, arena_dup(c->arena, buf_str(&c->made)));
    else
        calls_doubt(c);
}

static bool calls_calls_python_word(struct calls *c, str text)
{
    if (str_eq(text, STR("True")) || str_eq(text, STR("False")))
        json_out_bool(&c->out, text.p[0] == 'T');
    else if (str_eq(text, STR("None")))
        json_out_null(&c->out);
    else
        return false;
    return true;
}

/* A list or dict as Python prints it; made aside first, since it may turn out to be plain text. */
static bool calls_python_container(struct calls *c, str text)
{
    struct calls aside = {.raw = text, .arena = c->arena};
    struct err e;
    bool ok;

    assert(text.n > 0 && text.n <= c->raw.n);
    json_init(&aside.inner);
    buf_init(&aside.made, MADE_SIZE_MAX(text.n));
    buf_init(&aside.text, MADE_SIZE_MAX(text.n));
    json_out_init(&aside.out, &aside.made);
    ok = calls_python_value(&aside, 0) && calls_done(&aside) && json_out_ok(&aside.out, &e);
    if (ok)
        json_out_raw(&c->out, buf_str(&aside.made));
    json_release(&aside.inner);
    buf_release(&aside.made);
    buf_release(&aside.text);
    return ok;
}

/* One newline before and one after a value are framing, and come in pairs: at the end of a value
 * that began beside its tag, a newline is part of it. */
static str calls_without_newlines(str text)
{
    size_t lead = str_starts(text, STR("\r\n")) ? 2 : str_starts(text, STR("\n"));

    if (lead == 0)
        return text;
    text = str_slice(text, lead, text.n);
    text.n -= str_ends(text, STR("\r\n")) ? 2 : str_ends(text, STR("\n"));
    return text;
}

void calls_value(struct calls *c, str text, unsigned flags)
{
    str bare = str_trim(text);
    char first = bare.n ? bare.p[0] : '\0';
    struct err e;

    if (!calls_is_one_of(first, "-0123456789tfn{[TFN"))
        ; /* a string, like most */
    else if (flags & CALLS_NO_NULL && str_eq(bare, STR("null")))
        ;
    else if (json_parse(&c->inner, bare, &e)) {
        json_out_raw(&c->out, bare);
        return;
    } else if (flags & CALLS_PYTHON && calls_calls_python_word(c, bare))
        return;
    else if (flags & CALLS_PYTHON && (first == '{' || first == '[') &&
             calls_python_container(c, bare))
        return;
    json_out_str(&c->out, flags & CALLS_NEWLINES ? calls_without_newlines(text) : text);
}

static calls_reader *const readers[SPLIT_CALLS_COUNT] = {
    [SPLIT_CALLS_NONE] = NULL,
    [SPLIT_CALLS_BODY] = calls_body,
    [SPLIT_CALLS_TAGGED] = calls_tags,
    [SPLIT_CALLS_JSON] = calls_json,
    [SPLIT_CALLS_INVOKE] = calls_tags,
    [SPLIT_CALLS_DEEPSEEK] = calls_marked_deepseek,
    [SPLIT_CALLS_KIMI_K2] = calls_marked_kimi,
    [SPLIT_CALLS_KIMI_K3] = calls_kimi_k3,
    [SPLIT_CALLS_MISTRAL] = calls_mistral,
    [SPLIT_CALLS_GEMMA] = calls_gemma,
    [SPLIT_CALLS_PYTHONIC] = calls_pythonic,
    [SPLIT_CALLS_FUNCTION] = calls_tags,
    [SPLIT_CALLS_APERTUS] = calls_apertus,
    [SPLIT_CALLS_SOLAR] = calls_marked_solar,
};

bool split_calls(enum split_call_style style, str recipient, str raw, struct arena *a,
                 struct split_call_sink sink)
{
    struct calls c = {
        .raw = raw,
        .recipient = recipient,
        .arena = a,
        .sink = sink,
        .give_object = calls_give_named,
    };

    assert(style < SPLIT_CALLS_COUNT && sink.on_call);
    if (!readers[style] || raw.n > JSON_SIZE_MAX)
        return false;
    json_init(&c.doc);
    json_init(&c.inner);
    buf_init(&c.made, MADE_SIZE_MAX(raw.n));
    buf_init(&c.text, MADE_SIZE_MAX(raw.n));
    readers[style](&c);
    json_release(&c.doc);
    json_release(&c.inner);
    buf_release(&c.made);
    buf_release(&c.text);
    return c.given > 0 && !c.doubt;
}
