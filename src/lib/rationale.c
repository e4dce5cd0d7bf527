/* include/rationale.h put into effect: thin wrappers, nothing decided here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "rationale.h"

#include "split/extract.h"
#include "split/reader.h"
#include "tokens/tokens.h"

_Static_assert((int)RATIONALE_FRAMING == (int)SPLIT_FRAMING, "the kinds are the same");
_Static_assert((int)RATIONALE_UNCLOSED == (int)SPLIT_UNCLOSED, "the states are the same");
_Static_assert((int)RATIONALE_RECLASSIFY == (int)SPLIT_RECLASSIFY, "the notes are the same");
_Static_assert((int)RATIONALE_UNOPENED_CLOSE == (int)SPLIT_UNOPENED_CLOSE,
               "the flags are the same");

#define TOOL_SIZE_MAX ((size_t)64 << 20)

const char *rationale_version(void)
{
    return RATIONALE_VERSION;
}

/* Says why to a caller who wants to know; false. */
static bool rationale_give_error(struct rationale_error *out, enum rationale_error_code code,
                                 const char *text, const char *what)
{
    if (out) {
        out->code = (int)code;
        snprintf(out->text, sizeof out->text, "%s%s", text, what ? what : "");
    }
    return false;
}

/* ---- formats and splitting ---- */

const char *rationale_format_id(size_t index)
{
    const struct split_format *f = split_format_at(index);

    return f ? f->id : NULL;
}

struct rationale_split {
    struct split split;
    struct split_pair pair;
    char open[SPLIT_MARK_MAX], close[SPLIT_MARK_MAX];
    const struct split_format *format;
    struct rationale_split_options options;
    struct split_reader tools; /* in use if there is an on_call */
    bool finished;
};

static void rationale_on_run(void *ctx, enum split_kind kind, str run)
{
    struct rationale_split *s = ctx;

    assert(s->options.on_run);
    s->options.on_run(s->options.context, (enum rationale_kind)kind, run.p, run.n);
    if (s->options.on_call)
        split_reader_run(&s->tools, kind, run);
}

static void rationale_on_call(void *ctx, const struct split_call *c)
{
    struct rationale_split *s = ctx;
    str name = arena_dup(&s->tools.scratch, c->name);
    str arguments = arena_dup(&s->tools.scratch, c->arguments);

    assert(s->options.on_call);
    s->options.on_call(s->options.context,
                       &(struct rationale_call){name.p, name.n, arguments.p, arguments.n});
}

static void rationale_on_note(void *ctx, const struct split_note *n)
{
    struct rationale_split *s = ctx;
    struct rationale_note note = {
        .event = (enum rationale_event)n->what,
        .kind = (enum rationale_kind)n->kind,
        .name = n->name.p,
        .name_size = n->name.n,
        .size = n->what == SPLIT_RECLASSIFY ? n->size : 0,
    };

    if (s->options.on_note)
        s->options.on_note(s->options.context, &note);
    if (s->options.on_call)
        split_reader_note(&s->tools, n);
}

static void rationale_begin(struct rationale_split *s)
{
    assert(s->format && s->options.on_run);
    split_init(&s->split,
               s->format,
               s->options.inside,
               (struct split_sink){rationale_on_run, rationale_on_note, s});
    s->tools.unread = false;
    s->finished = false;
}

/* The pair's markers are copied, so that the caller's may go. */
static bool rationale_use_pair(struct rationale_split *s, const char *open, const char *close,
                               struct rationale_error *error)
{
    struct err e;
    str o = str_c(open), c = str_c(close);

    if (!open || !close)
        return rationale_give_error(
            error, RATIONALE_ERROR_INPUT, "open and close go together", NULL);
    if (!split_pair_init(&s->pair, o, c, &e))
        return rationale_give_error(error, RATIONALE_ERROR_INPUT, e.text, NULL);
    assert(o.n <= sizeof s->open && c.n <= sizeof s->close);
    memcpy(s->open, open, o.n);
    memcpy(s->close, close, c.n);
    s->format = &s->pair.format;
    return split_pair_init(&s->pair, (str){s->open, o.n}, (str){s->close, c.n}, &e);
}

struct rationale_split *rationale_split_new(const struct rationale_split_options *o,
                                            struct rationale_error *error)
{
    struct rationale_split *s;

    if (!o || !o->on_run) {
        rationale_give_error(error, RATIONALE_ERROR_INPUT, "on_run is missing", NULL);
        return NULL;
    }
    s = base_alloc(sizeof *s);
    s->options = *o;
    if (o->format && (o->open || o->close)) {
        rationale_give_error(
            error, RATIONALE_ERROR_INPUT, "either a format or a pair, not both", NULL);
        goto fail;
    }
    if (o->open || o->close) {
        if (!rationale_use_pair(s, o->open, o->close, error))
            goto fail;
    } else {
        s->format = split_format_find(str_c(o->format ? o->format : "think"));
        if (!s->format) {
            rationale_give_error(error, RATIONALE_ERROR_NOT_FOUND, "no such format: ", o->format);
            goto fail;
        }
    }
    s->options.format = s->options.open = s->options.close = NULL;
    if (s->options.on_call)
        split_reader_init(&s->tools, TOOL_SIZE_MAX, (struct split_call_sink){rationale_on_call, s});
    rationale_begin(s);
    return s;
fail:
    free(s);
    return NULL;
}

void rationale_split_feed(struct rationale_split *s, const char *text, size_t size)
{
    if (s->finished)
        rationale_begin(s);
    assert(!s->finished);
    if (size > 0)
        split_feed(&s->split, (str){text, size});
}

void rationale_split_finish(struct rationale_split *s)
{
    assert(s->split.sink.ctx == s);
    if (!s->finished)
        split_finish(&s->split);
    s->finished = true;
}

enum rationale_state rationale_split_state(const struct rationale_split *s)
{
    return (enum rationale_state)s->split.state;
}

unsigned rationale_split_flags(const struct rationale_split *s)
{
    bool unread = s->options.on_call && s->tools.unread;

    return s->split.flags | (unread ? RATIONALE_UNREAD_TOOL : 0u);
}

size_t rationale_split_size(const struct rationale_split *s, enum rationale_kind kind)
{
    return (unsigned)kind < SPLIT_KIND_COUNT ? s->split.size[kind] : 0;
}

void rationale_split_free(struct rationale_split *s)
{
    if (s && s->options.on_call)
        split_reader_release(&s->tools);
    free(s);
}

/* ---- extract ---- */

struct extract {
    struct rationale_extract face; /* first: the caller's pointer is ours */
    struct arena arena;
};

struct rationale_extract *rationale_extract_new(const char *text, size_t size)
{
    struct extract *x = base_alloc(sizeof *x);
    struct split_extract found;
    str raw, summary, final;

    arena_init(&x->arena, size * 5 + 4096);
    split_extract(size ? (str){text, size} : STR(""), &x->arena, &found);
    raw = arena_dup(&x->arena, found.raw_reasoning);
    summary = arena_dup(&x->arena, found.summary);
    final = arena_dup(&x->arena, found.final_response);
    assert(raw.n <= size + 1 && final.n <= size);
    x->face = (struct rationale_extract){
        .has_reasoning = found.has_reasoning,
        .unclosed = found.unclosed,
        .raw_reasoning = raw.p,
        .raw_reasoning_size = raw.n,
        .summary = summary.p,
        .summary_size = summary.n,
        .final_response = final.p,
        .final_response_size = final.n,
    };
    return &x->face;
}

void rationale_extract_free(struct rationale_extract *face)
{
    struct extract *x = (struct extract *)face;

    if (!x)
        return;
    arena_release(&x->arena);
    free(x);
}

/* ---- tokens ---- */

const char *rationale_vocab_name(size_t index)
{
    const struct tokens_vocab *v = tokens_vocab_at(index);

    return v ? tokens_vocab_name(v).p : NULL;
}

static const struct tokens_vocab *rationale_find_vocab(const char *name,
                                                       struct rationale_error *error)
{
    const struct tokens_vocab *v = tokens_vocab_find(str_c(name));

    if (!name)
        rationale_give_error(error, RATIONALE_ERROR_INPUT, "no vocabulary is named", NULL);
    else if (!v)
        rationale_give_error(error, RATIONALE_ERROR_NOT_FOUND, "no such vocabulary: ", name);
    return v;
}

bool rationale_count(const char *vocab, const char *text, size_t size, size_t *count,
                     struct rationale_error *error)
{
    const struct tokens_vocab *v = rationale_find_vocab(vocab, error);

    if (!v)
        return false;
    *count = tokens_count(v, size ? (str){text, size} : STR(""));
    return true;
}

bool rationale_encode(const char *vocab, const char *text, size_t size, uint32_t *ids,
                      size_t ids_max, size_t *count, struct rationale_error *error)
{
    const struct tokens_vocab *v = rationale_find_vocab(vocab, error);
    struct tokens_list list;

    if (!v)
        return false;
    if (size > SIZE_MAX / 4 - 1)
        return rationale_give_error(error, RATIONALE_ERROR_LIMIT, "the text is too large", NULL);
    tokens_list_init(&list, size * 3 + 1); /* a bad byte counts as a character of three */
    tokens_encode(v, size ? (str){text, size} : STR(""), &list);
    assert(list.n <= size * 3 + 1);
    *count = list.n;
    if (list.n > 0 && ids_max > 0)
        memcpy(ids, list.ids, (list.n < ids_max ? list.n : ids_max) * sizeof *ids);
    tokens_list_release(&list);
    return true;
}

struct rationale_counter {
    struct tokens_counter counter;
    struct tokens_windows windows;
};

struct rationale_counter *rationale_counter_new(const char *vocab, struct rationale_error *error)
{
    const struct tokens_vocab *v = rationale_find_vocab(vocab, error);
    struct rationale_counter *c;

    if (!v)
        return NULL;
    c = base_alloc(sizeof *c);
    tokens_counter_init(&c->counter, v, &c->windows);
    return c;
}

void rationale_counter_feed(struct rationale_counter *c, const char *text, size_t size)
{
    if (size > 0)
        tokens_counter_feed(&c->counter, (str){text, size});
}

size_t rationale_counter_count(struct rationale_counter *c)
{
    return tokens_counter_count(&c->counter);
}

void rationale_counter_free(struct rationale_counter *c)
{
    free(c);
}
