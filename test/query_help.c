/* SPDX-License-Identifier: Apache-2.0 */
#include "query_help.h"

const struct query_asker everyone = {.key_name = STR_INIT(""), .now_us = 2000000000};
const struct query_asker hider = {.key_name = STR_INIT("k1"), .hide_reasoning = true};

const struct query_page page_one = {
    .limit = 20, .page = 1, .cursor = STR_INIT(""), .sort = STR_INIT("")};

static void put(struct world *w, unsigned n)
{
    struct store_call row = store_call_none;
    char id[32], session[32], decision[128], asked[64];

    (void)snprintf(id, sizeof id, "call-%u", n);
    (void)snprintf(session, sizeof session, "s-%u", n / 2);
    (void)snprintf(asked, sizeof asked, "what about number%u", n);
    (void)snprintf(decision,
                   sizeof decision,
                   n % 3 ? "[TOOL_CALL] look%u, add: because number%u" : "[DIRECT] no tool %u %u",
                   n % 2,
                   n);
    row.id = str_c(id);
    row.session_id = str_c(session);
    row.key_name = n / 2 % 2 ? STR("k1") : STR("k0");
    row.provider = STR("p");
    row.model = n % 4 < 2 ? STR("m0") : STR("m1");
    row.dialect = STR("openai");
    row.started_ms = 1000 + 10 * n;
    row.reasoning_ms = row.started_ms + 1;
    row.answer_ms = row.started_ms + 1 + n;
    row.ended_ms = row.started_ms + 5 + n;
    row.status = n == 5 ? 500 : 200;
    row.error_code = n == 5 ? STR("upstream") : STR("");
    row.complete = true;
    row.has_reasoning = n % 2;
    row.reasoning = n % 2 ? STR("I wonder about it") : STR("");
    row.state = n % 2 ? STR("complete") : STR("none");
    row.level = STR("low");
    row.cap_tokens = 100;
    row.reasoning_tokens = n % 2 ? 10 * n : 0;
    row.input_tokens = 10;
    row.output_tokens = 100;
    row.cost_usd = 0.5;
    row.asked = str_c(asked);
    row.answer = n == 7 ? STR("") : STR("It is \"so\", -it- is");
    row.decision = str_c(decision);
    row.tools = n % 3 == 0 ? STR("")
                : n % 2    ? STR("[\"look1\",\"add\"]")
                           : STR("[\"look0\",\"add\"]");
    row.segments = n == 1
                       ? STR("[{\"kind\":\"reasoning\",\"text\":\"I wonder about it\",\"tokens\":4,"
                             "\"exact\":true,\"state\":\"complete\"},{\"kind\":\"answer\"}]")
                       : STR("");
    row.request = STR("{\"temperature\": 0.5, \"messages\": []}");
    store_call_put(w->store, &row, NULL);
}

void world_init(struct world *w)
{
    struct err e;

    place_init(&w->place);
    w->store = open_store(&w->place);
    for (unsigned i = 0; i < CALLS; i++)
        put(w, i);
    settle(w->store);
    CHECK_F(reader_open(str_c(w->place.url), &w->reader, &e), "%s", e.text);
    buf_init(&w->out, QUERY_OUT_MAX);
    json_init(&w->doc);
    arena_init(&w->arena, 1 << 24);
}

void world_release(struct world *w)
{
    arena_release(&w->arena);
    json_release(&w->doc);
    buf_release(&w->out);
    reader_close(w->reader);
    store_close(w->store);
    place_release(&w->place);
}

/* Parses the answer. */
void answered(struct world *w, bool ok, const struct err *e)
{
    struct err bad;

    CHECK_F(ok, "%s", e->text);
    CHECK_F(json_parse(&w->doc, buf_str(&w->out), &bad),
            "%s in %.*s",
            bad.text,
            STR_ARG(buf_str(&w->out)));
}

str text_at(struct world *w, const char *pointer)
{
    str s;

    return json_text(&w->doc, json_pointer(&w->doc, str_c(pointer)), &w->arena, &s) ? s
                                                                                    : STR("(none)");
}

long long number_at(struct world *w, const char *pointer)
{
    int64_t n;

    return json_i64(&w->doc, json_pointer(&w->doc, str_c(pointer)), &n) ? n : -999;
}

long long count_at(struct world *w, const char *pointer)
{
    return (long long)json_count(&w->doc, json_pointer(&w->doc, str_c(pointer)));
}
