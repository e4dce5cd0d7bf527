/* SPDX-License-Identifier: Apache-2.0 */
#include "split/collect.h"

/* Memory that calls may take for each byte of markup, and the minimum: a call has more than twenty
 * bytes of markup, and only a few words and its text are kept. */
#define CALLS_SIZE_FACTOR 32
#define CALLS_SIZE_MIN ((size_t)1 << 20)

static void split_collect_on_call(void *ctx, const struct split_call *call);

void split_collect_init(struct split_collect *c, str join, size_t size_max)
{
    *c = (struct split_collect){.join = join, .size_max = size_max};
    buf_init(&c->reasoning, size_max);
    buf_init(&c->answer, size_max);
    buf_init(&c->since, size_max);
    arena_init(&c->arena, size_max * CALLS_SIZE_FACTOR + CALLS_SIZE_MIN);
    split_reader_init(&c->tools, size_max, (struct split_call_sink){split_collect_on_call, c});
}

void split_collect_release(struct split_collect *c)
{
    buf_release(&c->reasoning);
    buf_release(&c->answer);
    buf_release(&c->since);
    arena_release(&c->arena);
    split_reader_release(&c->tools);
}

static void split_collect_on_run(void *ctx, enum split_kind kind, str run)
{
    struct split_collect *c = ctx;
    struct buf *to = kind == SPLIT_REASONING ? &c->reasoning : &c->answer;

    if (c->doubtful)
        buf_add(&c->since, run);
    if (kind == SPLIT_TOOL)
        c->tool_size += run.n;
    split_reader_run(&c->tools, kind, run);
    if (kind != SPLIT_REASONING && kind != SPLIT_ANSWER)
        return;
    if (c->join_next[kind] && to->n > 0)
        buf_add(to, c->join);
    c->join_next[kind] = false;
    buf_add(to, run);
}

static void split_collect_on_call(void *ctx, const struct split_call *call)
{
    struct split_collect *c = ctx;

    assert(c->call_count <= c->call_cap);
    if (c->tool_size > c->size_max)
        return; /* split_collect_ok says so */
    if (c->call_count == c->call_cap) {
        size_t cap = c->call_cap ? c->call_cap * 2 : 8;
        struct split_call *calls = arena_alloc(&c->arena, cap * sizeof *calls);

        if (c->call_count)
            memcpy(calls, c->calls, c->call_count * sizeof *calls);
        c->calls = calls;
        c->call_cap = cap;
    }
    c->calls[c->call_count++] = (struct split_call){
        .name = arena_dup(&c->arena, call->name),
        .arguments = arena_dup(&c->arena, call->arguments),
    };
}

static void split_collect_on_note(void *ctx, const struct split_note *note)
{
    struct split_collect *c = ctx;

    split_reader_note(&c->tools, note);
    switch (note->what) {
    case SPLIT_BEGIN:
        c->join_next[note->kind] = true;
        break;
    case SPLIT_END:
        break;
    case SPLIT_AMBIGUOUS:
        assert(!c->doubtful);
        c->doubtful = true;
        buf_reset(&c->since);
        c->answer_then = c->answer.n;
        break;
    case SPLIT_SETTLED:
        c->doubtful = false;
        break;
    case SPLIT_RECLASSIFY:
        assert(c->doubtful && c->answer_then <= c->answer.n);
        buf_add(&c->reasoning, buf_str(&c->since));
        c->answer.n = c->answer_then;
        c->doubtful = false;
        break;
    }
}

struct split_sink split_collect_sink(struct split_collect *c)
{
    return (struct split_sink){split_collect_on_run, split_collect_on_note, c};
}

bool split_collect_ok(const struct split_collect *c, struct err *e)
{
    if (c->tool_size > c->size_max)
        return err_set(e, ERR_LIMIT, "the tool markup: larger than %zu bytes", c->size_max);
    return buf_ok(&c->reasoning, "the reasoning", e) && buf_ok(&c->answer, "the answer", e) &&
           buf_ok(&c->since, "the text", e);
}
