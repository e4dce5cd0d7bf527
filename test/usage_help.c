/* SPDX-License-Identifier: Apache-2.0 */
#include "usage_help.h"

void side_put(struct side *s, unsigned n)
{
    static const char *const models[] = {"m0", "m1", ""}, *const keys[] = {"k0", "k1", ""};
    struct store_call row = store_call_none;
    char id[32], session[32];

    snprintf(id, sizeof id, "c-%u", n);
    snprintf(session, sizeof session, "s-%u", n / 3);
    row.id = str_c(id);
    row.session_id = str_c(session);
    row.model = str_c(models[rand_below(&s->rand, 3)]);
    row.key_name = str_c(keys[n / 3 % 3]);
    row.provider = STR("p");
    row.level = rand_below(&s->rand, 2) ? STR("low") : STR("");
    row.started_ms = 50 * 24 * (int64_t)HOUR + (int64_t)rand_below(&s->rand, 30 * HOUR);
    row.started_ms -= n % 7 ? 0 : row.started_ms % HOUR; /* on the hour */
    row.ended_ms = row.started_ms + 100;
    row.status = rand_below(&s->rand, 10) ? 200 : 500;
    row.complete = true;
    row.has_reasoning = rand_below(&s->rand, 2);
    row.answer = rand_below(&s->rand, 3) ? STR("yes") : STR("");
    row.cut = rand_below(&s->rand, 5) ? STR("") : STR("budget");
    row.cap_tokens = rand_below(&s->rand, 2) ? 100 : -1;
    row.input_tokens = rand_below(&s->rand, 4) ? (int64_t)rand_below(&s->rand, 1000) : -1;
    row.output_tokens = (int64_t)rand_below(&s->rand, 1000);
    row.reasoning_tokens = rand_below(&s->rand, 3) ? (int64_t)rand_below(&s->rand, 130) : -1;
    row.cost_usd =
        rand_below(&s->rand, 2) ? 0.25 : -1; /* multiples of 0.25 sum up exactly in any order */
    if (row.has_reasoning) {
        row.reasoning_ms = row.started_ms + 1;
        row.answer_ms = row.reasoning_ms + (int64_t)rand_below(&s->rand, 90);
    }
    store_call_put(s->store, &row, NULL);
}

void side_init(struct side *s)
{
    struct err e;

    place_init(&s->place);
    s->store = open_store(&s->place);
    rand_init(&s->rand, 11);
    for (unsigned i = 0; i < MADE; i++)
        side_put(s, i);
    settle(s->store);
    CHECK_F(reader_open(str_c(s->place.url), &s->reader, &e), "%s", e.text);
    CHECK_F(db_open(str_c(s->place.url), DB_READ, &s->db, &e), "%s", e.text);
    buf_init(&s->out, QUERY_OUT_MAX);
    buf_init(&s->expected, QUERY_OUT_MAX);
}

void side_release(struct side *s)
{
    db_close(s->db);
    reader_close(s->reader);
    store_close(s->store);
    buf_release(&s->out);
    buf_release(&s->expected);
    place_release(&s->place);
}
