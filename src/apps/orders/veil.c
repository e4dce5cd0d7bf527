/* veil.c - see veil.h.
 *
 * What is held is always the front of something that may be a tag. At each byte it is looked at
 * anew: it is one, or may become one, or its first byte is text and the rest is looked at again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/orders/veil.h"

#include "base/buf.h"

#define SPACES_MAX 4 /* in a tag, before its name */
#define PASSES_MAX 16

enum look { LOOK_TEXT, LOOK_MORE, LOOK_TAG, LOOK_TOKEN };

struct seen {
    size_t size; /* of the tag, without what ends its name if that is not ">" */
    str name;    /* as it is written, without its prefix */
    bool closing, whole;
};

static char low(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static bool has(str name, const char *stem)
{
    size_t n = strlen(stem);

    for (size_t i = 0; i + n <= name.n; i++) {
        size_t k = 0;

        while (k < n && low(name.p[i + k]) == stem[k])
            k++;
        if (k == n)
            return true;
    }
    return false;
}

static const char *const stems[] = {
    "think",   "thought", "reason", "reflect",  "analy", "rational", "scratch",
    "monolog", "intern",  "delib",  "consider", "decis", "inner",    "tool",
    "func",    "invoke",  "call",   "param",    "plan",  "cot",      "note",
};

/* Whether what is in such a tag is not for the customer. */
static bool hides(str name)
{
    for (size_t i = 0; i < COUNT_OF(stems); i++)
        if (has(name, stems[i]))
            return true;
    return false;
}

static bool is_letter(char c)
{
    return low(c) >= 'a' && low(c) <= 'z';
}

static bool is_name(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == ':' || c == '.';
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static size_t skip_spaces(str s, size_t at)
{
    size_t end = at;

    while (end < s.n && end - at < SPACES_MAX && is_space(s.p[end]))
        end++;
    return end;
}

/* <|name|> */
static enum look look_token(str s, struct seen *out)
{
    for (size_t i = 2; i < s.n; i++) {
        if (s.p[i] == '|' && i + 1 == s.n)
            return LOOK_MORE;
        if (s.p[i] == '|' && s.p[i + 1] == '>') {
            *out = (struct seen){.size = i + 2, .name = str_slice(s, 2, i), .whole = true};
            return LOOK_TOKEN;
        }
        if (i - 2 >= VEIL_NAME_MAX || (!is_name(s.p[i]) && s.p[i] != '/' && s.p[i] != ' '))
            return LOOK_TEXT;
    }
    return LOOK_MORE;
}

/* [THINK] and [/THINK] */
static enum look look_bracket(str s, struct seen *out)
{
    bool closing = s.n > 1 && s.p[1] == '/';
    size_t at = closing ? 2 : 1;

    for (size_t i = at; i < s.n; i++) {
        if (s.p[i] == ']') {
            *out = (struct seen){i + 1, str_slice(s, at, i), closing, true};
            return has(out->name, "think") ? LOOK_TAG : LOOK_TEXT;
        }
        if (i - at >= 12 || !is_name(s.p[i]))
            return LOOK_TEXT;
    }
    return LOOK_MORE;
}

static str without_prefix(str name)
{
    for (size_t i = name.n; i-- > 0;)
        if (name.p[i] == ':')
            return str_slice(name, i + 1, name.n);
    return name;
}

static bool begins(const char *stem, str word)
{
    for (size_t i = 0; i < word.n; i++)
        if (low(word.p[i]) != stem[i]) /* a NUL ends it */
            return false;
    return true;
}

/* Whether the end of the text cut a tag that would hide: "<reas", "</", "<inner_th". */
static bool may_hide(str s)
{
    size_t at = skip_spaces(s, 1), from = s.n;

    if (at < s.n && s.p[at] == '/')
        at = skip_spaces(s, at + 1);
    if (at == s.n || s.p[at] == '|' || hides(str_slice(s, at, s.n)))
        return true;
    while (from > at && is_letter(s.p[from - 1]))
        from--;
    for (size_t i = 0; i < COUNT_OF(stems); i++)
        if (begins(stems[i], str_slice(s, from, s.n)))
            return true;
    return false;
}

/* What is at the front of s, which begins with "<" or "[". */
static enum look look(str s, struct seen *out)
{
    size_t at, end;

    if (s.p[0] == '[')
        return look_bracket(s, out);
    if (s.n > 1 && s.p[1] == '|')
        return look_token(s, out);
    at = skip_spaces(s, 1);
    out->closing = at < s.n && s.p[at] == '/';
    at = out->closing ? skip_spaces(s, at + 1) : at;
    if (at == s.n)
        return LOOK_MORE;
    if (!is_letter(s.p[at]))
        return LOOK_TEXT;
    for (end = at; end < s.n && is_name(s.p[end]); end++)
        if (end - at >= VEIL_NAME_MAX)
            return LOOK_TEXT;
    if (end == s.n)
        return LOOK_MORE;
    out->name = without_prefix(str_slice(s, at, end));
    out->whole = s.p[end] == '>';
    out->size = out->whole ? end + 1 : end;
    if (hides(out->name) || out->whole)
        return LOOK_TAG;
    if (s.p[end] != '/')
        return LOOK_TEXT;
    if (end + 1 == s.n)
        return LOOK_MORE;
    out->whole = s.p[end + 1] == '>';
    out->size = end + 2;
    return out->whole ? LOOK_TAG : LOOK_TEXT;
}

/* ---- what is made of it ---- */

static void emit(struct veil *v, str run)
{
    if (run.n == 0)
        return;
    for (size_t i = 0; v->header && i < run.n; i++)
        if (v->word_n < VEIL_NAME_MAX)
            v->word[v->word_n++] = low(run.p[i]);
    if (!v->header)
        v->sink.on_run(v->sink.ctx, v->open[0] != '\0', run);
}

static void keep_name(char to[VEIL_NAME_MAX + 1], str name)
{
    size_t n = name.n < VEIL_NAME_MAX ? name.n : VEIL_NAME_MAX;

    for (size_t i = 0; i < n; i++)
        to[i] = low(name.p[i]);
    to[n] = '\0';
}

static void opened(struct veil *v, const char *name)
{
    if (!v->open[0]) {
        keep_name(v->open, str_c(name));
        v->depth = 1;
    } else if (strcmp(v->open, name) == 0) {
        v->depth++;
    }
}

static void closed(struct veil *v, const char *name)
{
    bool stray = !v->open[0];

    if (!stray && (strcmp(v->open, name) != 0 || --v->depth > 0))
        return;
    v->open[0] = '\0';
    if (v->sink.on_close)
        v->sink.on_close(v->sink.ctx, stray);
}

/* The ">" of a tag, or what stands where it should be. */
static void tag_ends(struct veil *v)
{
    char name[VEIL_NAME_MAX + 1];

    memcpy(name, v->tag, sizeof name);
    v->tag[0] = '\0';
    if (v->closing)
        closed(v, name);
    else if (!v->slash)
        opened(v, name);
}

static void take_tag(struct veil *v, const struct seen *t)
{
    if (!hides(t->name))
        return;
    keep_name(v->tag, t->name);
    v->closing = t->closing;
    v->slash = false;
    if (t->whole)
        tag_ends(v);
}

/* Harmony: <|start|>role<|channel|>name<|message|>text<|end|>. The customer is told what is final,
 * or in no channel. */
static void take_token(struct veil *v, str name)
{
    bool closes = has(name, "end_") || has(name, "suffix") || has(name, "/");
    str word = {v->word, v->word_n};

    if (has(name, "message") && v->header) {
        v->header = false;
        if (v->word[0] == '#' && !has(word, "final"))
            opened(v, "message");
    } else if (has(name, "channel") || has(name, "start") || has(name, "call") ||
               has(name, "return") || str_eq(name, STR("end"))) {
        if (strcmp(v->open, "message") == 0)
            closed(v, "message");
    }
    if (hides(name) && !has(name, "call")) {
        if (closes)
            closed(v, "token");
        else
            opened(v, "token");
    }
    if (str_eq(name, STR("channel")) || str_eq(name, STR("start"))) {
        v->header = true;
        v->word[0] = name.p[0] == 'c' ? '#' : ' ';
        v->word_n = 1;
    }
}

/* ---- bytes ---- */

void veil_init(struct veil *v, struct veil_sink sink)
{
    memset(v, 0, sizeof *v);
    v->sink = sink;
}

static void drop_held(struct veil *v, size_t n)
{
    memmove(v->hold, v->hold + n, v->held - n);
    v->held -= n;
}

/* Inside a tag, behind its name: true if the byte belongs to it. */
static bool in_tag(struct veil *v, char c)
{
    if (c == '>' || c == '<') {
        v->slash = v->slash && c == '>';
        tag_ends(v);
        return c == '>';
    }
    v->slash = c == '/';
    return true;
}

static void settle(struct veil *v, bool last)
{
    while (v->held > 0) {
        str s = {v->hold, v->held};
        struct seen t = {.name = STR("")};
        enum look l = LOOK_TEXT;

        if (v->tag[0]) {
            if (in_tag(v, s.p[0]))
                drop_held(v, 1);
            continue;
        }
        if (s.p[0] == '<' || s.p[0] == '[')
            l = look(s, &t);
        if (l == LOOK_MORE && v->held < VEIL_HOLD_MAX && !last)
            return;
        if (l == LOOK_TAG || l == LOOK_TOKEN) {
            if (l == LOOK_TAG)
                take_tag(v, &t);
            else
                take_token(v, t.name);
            drop_held(v, t.size);
            continue;
        }
        if (l == LOOK_MORE && last && s.n > 1 && s.p[0] == '<' && may_hide(s)) {
            v->held = 0; /* a tag that was cut */
            return;
        }
        emit(v, str_slice(s, 0, 1));
        drop_held(v, 1);
    }
}

void veil_feed(struct veil *v, str piece)
{
    size_t from = 0; /* piece[from..i) is plain text, not handed on yet */

    for (size_t i = 0; i < piece.n; i++) {
        bool mark = piece.p[i] == '<' || piece.p[i] == '[';

        if (v->held == 0 && !v->tag[0] && !mark)
            continue;
        emit(v, str_slice(piece, from, i));
        from = i + 1;
        v->hold[v->held++] = piece.p[i];
        settle(v, false);
        assert(v->held < VEIL_HOLD_MAX);
    }
    emit(v, str_slice(piece, from, piece.n));
}

void veil_finish(struct veil *v)
{
    settle(v, true);
}

/* ---- whole texts ---- */

struct parts {
    struct buf said, thought, first;
    bool opened;
};

static void on_run(void *ctx, bool thought, str run)
{
    struct parts *p = ctx;

    p->opened |= thought;
    buf_add(thought ? &p->thought : &p->said, run);
}

static void keep_first(struct parts *p)
{
    if (str_trim(buf_str(&p->first)).n == 0) {
        buf_reset(&p->first);
        buf_add(&p->first, buf_str(&p->thought));
    }
    buf_reset(&p->thought);
}

/* A closer before any opener: the prompt had opened it, and all so far was thought. */
static void on_close(void *ctx, bool stray)
{
    struct parts *p = ctx;

    if (stray && !p->opened) {
        buf_add(&p->thought, buf_str(&p->said));
        buf_reset(&p->said);
    }
    p->opened = true;
    keep_first(p);
}

static void pass(struct parts *p, str text)
{
    struct veil v;

    p->opened = false;
    buf_reset(&p->said);
    veil_init(&v, (struct veil_sink){on_run, on_close, p});
    veil_feed(&v, text);
    veil_finish(&v);
    keep_first(p);
}

/* What is left of a text can be a tag again ("<<b>think>"), so it is looked at until nothing goes;
 * after PASSES_MAX somebody is playing, and hears nothing. */
void veil_text(str text, struct arena *a, str *said, str *thought)
{
    struct parts p = {.opened = false};
    unsigned passes = 0;
    struct buf now;

    buf_init(&p.said, text.n + 1);
    buf_init(&p.thought, text.n + 1);
    buf_init(&p.first, text.n + 1);
    buf_init(&now, text.n + 1);
    buf_add(&now, text);
    for (pass(&p, buf_str(&now)); p.said.n < now.n; pass(&p, buf_str(&now))) {
        buf_reset(&now);
        if (++passes <= PASSES_MAX)
            buf_add(&now, buf_str(&p.said));
    }
    *said = arena_dup(a, str_trim(buf_str(&p.said)));
    *thought = arena_dup(a, str_trim(buf_str(&p.first)));
    buf_release(&now);
    buf_release(&p.said);
    buf_release(&p.thought);
    buf_release(&p.first);
}
