/* pieces.c - writes the texts of a running call to the store, piece by piece.
 *
 * If the process dies, the record has the call up to its last moments; and no long reply is held in
 * memory. At first a call holds its texts and the pieces are copies: the row at the end has all of
 * them. After many bytes, or some time, texts are freed once they are written, and the row has only
 * the rest.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/call/internal.h"

#define PIECE_SIZE 8192
#define LET_GO_NS 1000000000u
#define OFTEN_NS 100000000u /* between two pieces, */
#define SELDOM_NS LET_GO_NS /* and when very many calls run, for which the tables */
#define CALL_NS 200000u     /* take about so long a piece */

static uint64_t pieces_interval_ns(const struct call *c)
{
    uint64_t ns = c->gl->calls * (uint64_t)CALL_NS;

    assert(c->gl->calls > 0);
    return ns < OFTEN_NS ? OFTEN_NS : ns > SELDOM_NS ? SELDOM_NS : ns;
}

static void pieces_put_text(struct call *c, str kind, str text)
{
    uint64_t ran_ms = (call_now_ns(c) - c->in.start_ns) / CLOCK_NS_PER_MS;
    struct store_piece piece = {
        c->in.id, c->record.pieces.count++, kind, text, call_wall_start_ms(c) + (int64_t)ran_ms};

    assert(c->recorded && kind.n > 0);
    store_piece_put(c->gl->gateway->store, &piece);
}

static void pieces_put_new(struct call *c, str kind, const struct buf *text, size_t *have)
{
    assert(*have <= text->n);
    if (text->n > *have)
        pieces_put_text(c, kind, str_slice(buf_str(text), *have, text->n));
    *have = text->n;
}

/* From now on the row has only the texts after this point. */
static void pieces_free_texts(struct call *c, uint64_t now)
{
    assert(c->record.pieces.answer == c->record.answer.n);
    assert(c->record.pieces.reasoning == c->record.reasoning.n);
    if (!c->record.pieces.let_go)
        pieces_put_text(c, STR(STORE_CONTINUED), STR(""));
    c->record.pieces.let_go = true;
    c->record.pieces.let_go_ns = now;
    buf_reset(&c->record.answer);
    buf_reset(&c->record.reasoning);
    c->record.pieces.answer = c->record.pieces.reasoning = 0;
}

static void pieces_put_all(struct call *c, uint64_t now)
{
    struct call_pieces *p = &c->record.pieces;
    struct store_call row;

    assert(c->recorded && c->state < CALL_COMMITTING);
    p->put_ns = now;
    if (c->record.last && c->record.last->kind != CALL_SEG_TOOL)
        call_record_flush_text(c, false);
    if (p->count == 0) {
        struct chat_usage reported = c->sum.usage;

        call_summarize(c);
        call_build_row_facts(c, &row); /* without texts: they come as pieces */
        c->sum.usage = reported;       /* what is counted now is not the count at the end */
        store_call_begin(c->gl->gateway->store, &row);
        call_drop_nodes(c);
    }
    pieces_put_new(c, STR("reasoning"), &c->record.reasoning, &p->reasoning);
    pieces_put_new(c, STR("answer"), &c->record.answer, &p->answer);
    if (p->let_go)
        pieces_free_texts(c, now); /* the row may not have them a second time */
}

static void pieces_on_timer(void *ctx)
{
    struct call *c = ctx;

    pieces_put_all(c, call_now_ns(c));
}

void call_pieces_put(struct call *c)
{
    struct call_pieces *p = &c->record.pieces;
    uint64_t now = call_now_ns(c);
    size_t held = c->record.answer.n + c->record.reasoning.n + c->record.raw.n;

    assert(c->recorded && now >= p->let_go_ns && now >= p->put_ns);
    if (!p->put_ns)
        p->put_ns = p->let_go_ns = now;
    if (held == 0)
        return;
    if (held >= PIECE_SIZE || now - p->let_go_ns >= LET_GO_NS) {
        pieces_put_all(c, now);
        pieces_free_texts(c, now);
    } else if (now - p->put_ns >= pieces_interval_ns(c)) {
        pieces_put_all(c, now);
    } else if (!p->timer.slot) {
        loop_timer_init(&p->timer, pieces_on_timer, c);
        loop_timer_set(c->gl->loop, &p->timer, pieces_interval_ns(c) / CLOCK_NS_PER_MS);
    }
}

void call_pieces_reset(struct call *c)
{
    struct call_pieces *p = &c->record.pieces;

    assert(c->recorded);
    if (p->count)
        pieces_put_text(c, STR(STORE_RESTART), STR(""));
    p->let_go = false;
    p->answer = p->reasoning = 0;
    p->put_ns = 0;
}

void call_pieces_stop(struct call *c)
{
    if (c->recorded)
        loop_timer_clear(c->gl->loop, &c->record.pieces.timer);
}
