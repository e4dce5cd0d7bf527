/* customer_filter.c - see customer_filter.h.
 *
 * The buffered bytes are always the beginning of a possible tag. With each new byte the filter
 * reads them again: they are a tag, or may become one, or the first byte is text and the rest is
 * read again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/orders/customer_tag.h"

#include "apps/orders/customer_label.h"
#include "base/ctype.h"

#define PASSES_MAX 16
#define ROUNDS_MAX 4 /* over tags and labels; removing one can reveal the other */

/* ---- output ---- */

static void order_customer_filter_emit(struct customer_filter *v, str run)
{
    if (run.n == 0)
        return;
    for (size_t i = 0; v->header && i < run.n; i++)
        if (v->word_n < CUSTOMER_TAG_NAME_MAX)
            v->word[v->word_n++] = run.p[i];
    if (!v->header)
        v->sink.on_run(v->sink.ctx, v->open[0] != '\0', run);
}

static void customer_keep_name(char to[CUSTOMER_TAG_NAME_MAX + 1], str name)
{
    size_t n = name.n < CUSTOMER_TAG_NAME_MAX ? name.n : CUSTOMER_TAG_NAME_MAX;

    for (size_t i = 0; i < n; i++)
        to[i] = char_to_lower(name.p[i]);
    to[n] = '\0';
}

static void customer_filter_open_tag(struct customer_filter *v, const char *name)
{
    assert(!v->open[0] || v->depth > 0);
    if (!v->open[0]) {
        customer_keep_name(v->open, str_c(name));
        v->depth = 1;
        v->others = 0;
    } else if (strcmp(v->open, name) == 0) {
        v->depth++;
    } else if (customer_tag_thinks(str_c(name))) {
        v->others++;
    }
}

static bool customer_in_comment(const struct customer_filter *v)
{
    return strcmp(v->open, CUSTOMER_COMMENT) == 0;
}

/* Whether a closer of another name ends what is open: <reasoning>...</thinking>. */
static bool customer_ends_other(struct customer_filter *v, const char *name)
{
    bool thinks = strcmp(name, "token") == 0 || customer_tag_thinks(str_c(name));

    if (v->others > 0 && thinks) {
        v->others--;
        return false;
    }
    return v->any_closer && thinks && !customer_in_comment(v) && strcmp(v->open, "message") != 0;
}

static void customer_filter_close_tag(struct customer_filter *v, const char *name)
{
    bool stray = !v->open[0];

    assert(stray || v->depth > 0);
    v->mismatched = !stray && strcmp(v->open, name) != 0;
    if (v->mismatched && !customer_ends_other(v, name))
        return;
    if (!stray && --v->depth > 0)
        return;
    v->open[0] = '\0';
    if (v->sink.on_close)
        v->sink.on_close(v->sink.ctx, stray);
}

/* The ">" of a tag, or the byte in its place. */
static void tag_ends(struct customer_filter *v)
{
    char name[CUSTOMER_TAG_NAME_MAX + 1];

    assert(v->tag[0]);
    memcpy(name, v->tag, sizeof name);
    v->tag[0] = '\0';
    if (v->closing)
        customer_filter_close_tag(v, name);
    else if (!v->slash)
        customer_filter_open_tag(v, name);
}

static void customer_take_tag(struct customer_filter *v, const struct customer_tag *t)
{
    if (!customer_tag_hides(t->name) && !customer_tag_name_has(t->name, "channel"))
        return;
    assert(!v->tag[0] && t->name.n > 0);
    customer_keep_name(v->tag, t->name);
    v->closing = t->closing;
    v->slash = v->equals = false;
    v->quote = '\0';
    if (t->whole)
        tag_ends(v);
}

/* Harmony: <|start|>role<|channel|>name<|message|>text<|end|>. The customer gets the final channel,
 * or in no channel. */
static void order_customer_filter_take_token(struct customer_filter *v, str name)
{
    bool closes = customer_tag_name_has(name, "end_") || customer_tag_name_has(name, "suffix") ||
                  customer_tag_name_has(name, "/");
    str word = {v->word, v->word_n};

    if (customer_tag_name_has(name, "message") && v->header) {
        v->header = false;
        if (v->word[0] == '#' && !customer_tag_name_has(word, "final"))
            customer_filter_open_tag(v, "message");
    } else if (customer_tag_name_has(name, "channel") || customer_tag_name_has(name, "start") ||
               customer_tag_name_has(name, "call") || customer_tag_name_has(name, "return") ||
               str_eq(name, STR("end"))) {
        if (strcmp(v->open, "message") == 0)
            customer_filter_close_tag(v, "message");
    }
    if (customer_tag_hides(name) && !customer_tag_name_has(name, "call")) {
        if (closes)
            customer_filter_close_tag(v, "token");
        else
            customer_filter_open_tag(v, "token");
    }
    if (str_eq(name, STR("channel")) || str_eq(name, STR("start"))) {
        v->header = true;
        v->word[0] = name.p[0] == 'c' ? '#' : ' ';
        v->word_n = 1;
    }
}

/* ---- bytes ---- */

void customer_filter_init(struct customer_filter *v, struct customer_filter_sink sink)
{
    memset(v, 0, sizeof *v);
    v->sink = sink;
}

static void customer_drop_held(struct customer_filter *v, size_t n)
{
    assert(n <= v->held && v->held <= CUSTOMER_TAG_MAX);
    memmove(v->hold, v->hold + n, v->held - n);
    v->held -= n;
}

/* Inside a tag, after its name: true if the letter belongs to it. */
static bool customer_in_tag(struct customer_filter *v, char c)
{
    assert(v->tag[0]);
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

/* False: more text is needed. */
static bool customer_settle_tag(struct customer_filter *v, bool last)
{
    char c = '\0';
    size_t size = customer_tag_letter((str){v->hold, v->held}, &c);

    if (!size && !last)
        return false;
    if (customer_in_tag(v, c))
        customer_drop_held(v, size ? size : 1);
    return true;
}

/* In a comment only its end counts. False: more of it is needed. */
static bool customer_settle_comment(struct customer_filter *v, bool last)
{
    static const char *const ends[] = {"-->", "--!>", "--&gt;"};
    str s = {v->hold, v->held};

    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        str end = str_c(ends[i]);

        if (str_starts(s, end)) {
            customer_drop_held(v, end.n);
            customer_filter_close_tag(v, CUSTOMER_COMMENT);
            return true;
        }
        if (!last && str_starts(end, s))
            return false;
    }
    order_customer_filter_emit(v, str_slice(s, 0, 1));
    customer_drop_held(v, 1);
    return true;
}

static void order_customer_filter_settle(struct customer_filter *v, bool last)
{
    struct customer_tag t;

    while (v->held > 0) {
        str s = {v->hold, v->held};
        enum customer_tag_kind l;

        if (v->tag[0] || customer_in_comment(v)) {
            if (!(v->tag[0] ? customer_settle_tag(v, last) : customer_settle_comment(v, last)))
                return;
            continue;
        }
        l = customer_tag_may_begin(s.p[0]) ? customer_tag_read(s, &t) : CUSTOMER_TAG_NONE;
        if (l == CUSTOMER_TAG_MORE && v->held < CUSTOMER_TAG_MAX && !last)
            return;
        if (l == CUSTOMER_TAG_TAG || l == CUSTOMER_TAG_TOKEN) {
            v->taken++;
            if (l == CUSTOMER_TAG_TAG)
                customer_take_tag(v, &t);
            else
                order_customer_filter_take_token(v, t.name);
            customer_drop_held(v, t.size);
            continue;
        }
        if (l == CUSTOMER_TAG_MORE && last && customer_tag_is_cut(s)) {
            v->taken++;
            v->held = 0; /* a tag that was cut */
            return;
        }
        order_customer_filter_emit(v, str_slice(s, 0, 1));
        customer_drop_held(v, 1);
    }
}

void customer_filter_feed(struct customer_filter *v, str piece)
{
    size_t from = 0; /* piece[from..i) is plain text, not passed on yet */

    for (size_t i = 0; i < piece.n; i++) {
        bool mark = customer_in_comment(v) ? piece.p[i] == '-' : customer_tag_may_begin(piece.p[i]);

        if (v->held == 0 && !v->tag[0] && !mark)
            continue;
        order_customer_filter_emit(v, str_slice(piece, from, i));
        from = i + 1;
        v->hold[v->held++] = piece.p[i];
        order_customer_filter_settle(v, false);
        assert(v->held < CUSTOMER_TAG_MAX);
    }
    order_customer_filter_emit(v, str_slice(piece, from, piece.n));
}

void customer_filter_finish(struct customer_filter *v)
{
    order_customer_filter_settle(v, true);
    assert(v->held == 0);
}

/* ---- whole texts ---- */

struct parts {
    struct customer_filter filter;
    struct buf said, thought, first;
    bool opened;
    size_t doubted; /* where a closer of another name ended a thought; STR_NONE: none did */
};

static void order_customer_filter_on_run(void *ctx, bool thought, str run)
{
    struct parts *p = ctx;

    p->opened |= thought;
    buf_add(thought ? &p->thought : &p->said, run);
}

static void customer_keep_first(struct parts *p)
{
    if (str_trim(buf_str(&p->first)).n == 0) {
        buf_set(&p->first, buf_str(&p->thought));
    }
    buf_reset(&p->thought);
}

/* A closing tag before any opening one: the prompt had opened the reasoning, so all text so far is
 * reasoning. The same for the text since a closing tag of another name, if one more comes. */
static void order_customer_filter_on_close(void *ctx, bool stray)
{
    struct parts *p = ctx;
    size_t from = !p->opened ? 0 : p->doubted;

    if (stray && from != STR_NONE) {
        assert(from <= p->said.n);
        buf_add(&p->thought, str_slice(buf_str(&p->said), from, p->said.n));
        p->said.n = from;
    }
    if (p->filter.mismatched && p->doubted == STR_NONE)
        p->doubted = p->said.n;
    p->opened = true;
    customer_keep_first(p);
}

/* Removes the tags from the text. True: a thought was never closed. */
static bool customer_read_tags(struct parts *p, str text, bool any_closer)
{
    buf_reset(&p->said);
    p->doubted = STR_NONE;
    customer_filter_init(&p->filter,
                         (struct customer_filter_sink){
                             order_customer_filter_on_run, order_customer_filter_on_close, p});
    p->filter.any_closer = any_closer;
    customer_filter_feed(&p->filter, text);
    customer_filter_finish(&p->filter);
    customer_keep_first(p);
    assert(p->said.n <= text.n && (p->doubted == STR_NONE || p->doubted <= p->said.n));
    return p->filter.open[0] != '\0';
}

/* A reading in which every thought is closed is the better one, so closers of other names count
 * only where one is not. */
static void order_customer_filter_pass(struct parts *p, str text)
{
    size_t first = p->first.n;
    bool opened = p->opened;

    if (!customer_read_tags(p, text, false))
        return;
    p->first.n = first;
    p->opened = opened;
    (void)customer_read_tags(p, text, true);
}

static void customer_on_any(void *ctx, bool thought, str run)
{
    (void)thought;
    buf_add(ctx, run);
}

/* Removes only the tags from a thought. */
static void customer_filter_remove_tags(struct buf *text)
{
    struct buf out;
    struct customer_filter v;

    buf_init(&out, text->n + 1);
    for (unsigned passes = 0; passes < PASSES_MAX && out.n != text->n; passes++) {
        if (passes) {
            buf_set(text, buf_str(&out));
            buf_reset(&out);
        }
        customer_filter_init(&v,
                             (struct customer_filter_sink){.on_run = customer_on_any, .ctx = &out});
        customer_filter_feed(&v, buf_str(text));
        customer_filter_finish(&v);
    }
    buf_release(&out);
}

static void customer_parts_init(struct parts *p, size_t size)
{
    p->opened = false;
    buf_init(&p->said, size + 1);
    buf_init(&p->thought, size + 1);
    buf_init(&p->first, size + 1);
}

static void customer_parts_release(struct parts *p)
{
    buf_release(&p->said);
    buf_release(&p->thought);
    buf_release(&p->first);
}

/* The rest of a text can form a tag again ("<<b>think>"), so the text is filtered until nothing is
 * removed. A text that needs more than PASSES_MAX passes is an attack: nothing of it is sent. */
static void filter_tags(struct parts *p, str text)
{
    unsigned passes = 0;
    struct buf now;

    buf_init(&now, text.n + 1);
    buf_add(&now, text);
    for (order_customer_filter_pass(p, buf_str(&now)); p->said.n < now.n;
         order_customer_filter_pass(p, buf_str(&now))) {
        buf_reset(&now);
        if (++passes <= PASSES_MAX)
            buf_add(&now, buf_str(&p->said));
    }
    buf_release(&now);
}

void customer_filter_tags(str text, struct arena *a, str *said, str *thought)
{
    struct parts p;

    customer_parts_init(&p, text.n);
    filter_tags(&p, text);
    customer_filter_remove_tags(&p.first);
    *said = arena_dup(a, str_trim(buf_str(&p.said)));
    *thought = arena_dup(a, str_trim(buf_str(&p.first)));
    customer_parts_release(&p);
}

/* Labels are searched in a text without tags. If the rest then has a tag, both are read again. */
void customer_filter_text(str text, struct arena *a, str *said, str *thought)
{
    struct buf now, hidden;
    struct parts p;
    bool changed = true;

    customer_parts_init(&p, text.n);
    buf_init(&now, text.n + 1);
    buf_init(&hidden, text.n + 1);
    buf_add(&now, text);
    for (unsigned round = 0; changed && round < ROUNDS_MAX; round++) {
        filter_tags(&p, buf_str(&now));
        buf_reset(&now);
        changed = customer_label_strip(buf_str(&p.said), p.opened, &now, &hidden);
        p.opened |= changed;
    }
    customer_filter_remove_tags(&p.first);
    customer_filter_remove_tags(&hidden);
    *said = changed ? STR("") : arena_dup(a, str_trim(buf_str(&now)));
    *thought = arena_dup(a, str_trim(buf_str(str_trim(buf_str(&p.first)).n ? &p.first : &hidden)));
    buf_release(&now);
    buf_release(&hidden);
    customer_parts_release(&p);
}
