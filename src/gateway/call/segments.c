/* segments.c - the parts of a reply as the record stores them: see store/call_segments.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/call/internal.h"

#define SEGMENTS_USUAL 512u /* bytes */

/* The reply broke off in it, or has nothing but the thought. */
static bool record_left_open(const struct call *c, const struct call_segment *s)
{
    bool bare = s->kind == CALL_SEG_REASONING && !c->pipe.cap.answered && !c->pipe.cap.called;

    return bare || !c->sum.complete;
}

static void record_put_i64(struct buf *out, str name, int64_t n)
{
    buf_add(out, name);
    if (n < 0)
        buf_add_c(out, '-');
    buf_add_u64(out, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
}

static void record_put_text(struct buf *out, str name, str text)
{
    buf_add(out, name);
    buf_add(out, text);
}

/* The counts of the call belong to a segment that is the only one of its kind; otherwise its own
 * estimate is all there is. `others`: segments that are not reasoning. */
static int64_t record_segment_tokens(const struct call *c, const struct call_segment *s,
                                     size_t thoughts, size_t others)
{
    const struct chat_usage *u = &c->sum.usage;
    int64_t reasoning = u->reasoning > 0 ? u->reasoning : 0;

    assert(thoughts + others == c->record.count);
    if (s->kind == CALL_SEG_REASONING && thoughts == 1 && u->reasoning >= 0)
        return u->reasoning;
    if (s->kind == CALL_SEG_ANSWER && others == 1 && u->output >= reasoning)
        return u->output - reasoning;
    return s->tokens;
}

/* Members with their usual value are left out: see store/call_segments.h. */
static void record_write_segment(struct call *c, struct buf *out, const struct call_segment *s,
                                 const struct call_segment *last_thought, size_t thoughts)
{
    static const str kinds[] = {STR_INIT("reasoning"), STR_INIT("answer"), STR_INIT("tool_call")};
    const struct summary *sum = c->summary;
    bool exact = s == last_thought && thoughts == 1 && sum->reasoning_exact;
    bool cut = s == last_thought && sum->cut, open = s == c->record.last && record_left_open(c, s);
    uint64_t took_us = (s->end_ns - s->start_ns) / CLOCK_NS_PER_US;

    assert((size_t)s->kind < COUNT_OF(kinds) && s->end_ns >= s->start_ns);
    record_put_text(out, out->n > 1 ? STR(",{\"kind\":\"") : STR("{\"kind\":\""), kinds[s->kind]);
    record_put_i64(out, STR("\",\"at\":"), (int64_t)s->at);
    record_put_i64(out, STR(",\"size\":"), (int64_t)s->size);
    record_put_i64(out,
                   STR(",\"tokens\":"),
                   record_segment_tokens(c, s, thoughts, c->record.count - thoughts));
    record_put_i64(
        out, STR(",\"after_us\":"), (int64_t)((s->start_ns - sum->start_ns) / CLOCK_NS_PER_US));
    if (took_us)
        record_put_i64(out, STR(",\"took_us\":"), (int64_t)took_us);
    if (exact)
        buf_add(out, STR(",\"exact\":true"));
    if (s->kind == CALL_SEG_REASONING && sum->cap >= 0)
        record_put_i64(out, STR(",\"budget\":"), sum->cap);
    if (cut)
        buf_add(out, STR(",\"cut\":true"));
    if (s->opaque || cut || open)
        record_put_text(out,
                        s->opaque ? STR(",\"state\":\"opaque")
                        : cut     ? STR(",\"state\":\"cut")
                                  : STR(",\"state\":\"unclosed"),
                        STR("\""));
    buf_add_c(out, '}');
}

str call_write_segments(struct call *c)
{
    const struct call_record *r = &c->record;
    const struct call_segment *thought = NULL;
    size_t thoughts = 0;
    struct buf out;

    assert(!r->first == !r->count);
    if (!r->count || (r->count == 1 && r->first->kind == CALL_SEG_ANSWER))
        return STR("");
    for (const struct call_segment *s = r->first; s; s = s->next)
        if (s->kind == CALL_SEG_REASONING) {
            thought = s;
            thoughts++;
        }
    assert(thoughts <= r->count);
    buf_init(&out, (size_t)CALL_SEGMENTS_MAX * 256);
    buf_reserve(&out, SEGMENTS_USUAL);
    buf_add_c(&out, '[');
    for (const struct call_segment *s = r->first; s; s = s->next)
        record_write_segment(c, &out, s, thought, thoughts);
    buf_add_c(&out, ']');
    assert(!buf_full(&out));
    return arena_move_buf(&c->arena, &out);
}
