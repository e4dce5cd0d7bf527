/* veil.c - see veil.h.
 *
 * What is held is always the front of something that may be a tag. At each byte it is looked at
 * anew: it is one, or may become one, or its first byte is text and the rest is looked at again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/orders/veil_in.h"

#include "base/buf.h"

#define PASSES_MAX 16

/* ---- what is made of it ---- */

static void emit(struct veil *v, str run)
{
    if (run.n == 0)
        return;
    for (size_t i = 0; v->header && i < run.n; i++)
        if (v->word_n < VEIL_NAME_MAX)
            v->word[v->word_n++] = run.p[i];
    if (!v->header)
        v->sink.on_run(v->sink.ctx, v->open[0] != '\0', run);
}

static void keep_name(char to[VEIL_NAME_MAX + 1], str name)
{
    size_t n = name.n < VEIL_NAME_MAX ? name.n : VEIL_NAME_MAX;

    for (size_t i = 0; i < n; i++)
        to[i] = name.p[i] >= 'A' && name.p[i] <= 'Z' ? (char)(name.p[i] | 0x20) : name.p[i];
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

static void take_tag(struct veil *v, const struct veil_seen *t)
{
    if (!veil_hides(t->name) && !veil_has(t->name, "channel"))
        return;
    keep_name(v->tag, t->name);
    v->closing = t->closing;
    v->slash = v->equals = false;
    v->quote = '\0';
    if (t->whole)
        tag_ends(v);
}

/* Harmony: <|start|>role<|channel|>name<|message|>text<|end|>. The customer is told what is final,
 * or in no channel. */
static void take_token(struct veil *v, str name)
{
    bool closes = veil_has(name, "end_") || veil_has(name, "suffix") || veil_has(name, "/");
    str word = {v->word, v->word_n};

    if (veil_has(name, "message") && v->header) {
        v->header = false;
        if (v->word[0] == '#' && !veil_has(word, "final"))
            opened(v, "message");
    } else if (veil_has(name, "channel") || veil_has(name, "start") || veil_has(name, "call") ||
               veil_has(name, "return") || str_eq(name, STR("end"))) {
        if (strcmp(v->open, "message") == 0)
            closed(v, "message");
    }
    if (veil_hides(name) && !veil_has(name, "call")) {
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

/* Inside a tag, behind its name: true if the letter belongs to it. */
static bool in_tag(struct veil *v, char c)
{
    if (v->quote) {
        v->quote = c == v->quote ? '\0' : v->quote;
    } else if ((c == '"' || c == '\'') && v->equals) {
        v->quote = c;
    } else if (c == '>' || c == '<') {
        v->slash = v->slash && c == '>';
        tag_ends(v);
        return c == '>';
    }
    v->equals = c == '=';
    v->slash = c == '/';
    return true;
}

/* False: more of it is needed. */
static bool settle_tag(struct veil *v, bool last)
{
    char c = '\0';
    size_t size = veil_letter((str){v->hold, v->held}, &c);

    if (!size && !last)
        return false;
    if (in_tag(v, c))
        drop_held(v, size ? size : 1);
    return true;
}

static void settle(struct veil *v, bool last)
{
    struct veil_seen t;

    while (v->held > 0) {
        str s = {v->hold, v->held};
        enum look l;

        if (v->tag[0]) {
            if (!settle_tag(v, last))
                return;
            continue;
        }
        l = veil_mark(s.p[0]) ? veil_look(s, &t) : LOOK_TEXT;
        if (l == LOOK_MORE && v->held < VEIL_HOLD_MAX && !last)
            return;
        if (l == LOOK_TAG || l == LOOK_TOKEN) {
            v->taken++;
            if (l == LOOK_TAG)
                take_tag(v, &t);
            else
                take_token(v, t.name);
            drop_held(v, t.size);
            continue;
        }
        if (l == LOOK_MORE && last && veil_cut(s)) {
            v->taken++;
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
        if (v->held == 0 && !v->tag[0] && !veil_mark(piece.p[i]))
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

    buf_reset(&p->said);
    veil_init(&v, (struct veil_sink){on_run, on_close, p});
    veil_feed(&v, text);
    veil_finish(&v);
    keep_first(p);
}

static void on_any(void *ctx, bool thought, str run)
{
    (void)thought;
    buf_add(ctx, run);
}

/* The tags alone are taken out of a thought. */
static void untag(struct buf *text)
{
    struct buf out;
    struct veil v;

    buf_init(&out, text->n + 1);
    for (unsigned passes = 0; passes < PASSES_MAX && out.n != text->n; passes++) {
        if (passes) {
            buf_reset(text);
            buf_add(text, buf_str(&out));
            buf_reset(&out);
        }
        veil_init(&v, (struct veil_sink){.on_run = on_any, .ctx = &out});
        veil_feed(&v, buf_str(text));
        veil_finish(&v);
    }
    buf_release(&out);
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
    untag(&p.first);
    *said = arena_dup(a, str_trim(buf_str(&p.said)));
    *thought = arena_dup(a, str_trim(buf_str(&p.first)));
    buf_release(&now);
    buf_release(&p.said);
    buf_release(&p.thought);
    buf_release(&p.first);
}
