/* SPDX-License-Identifier: Apache-2.0 */
#include "export_help.h"

#include "base/utf8.h"
#include "store_help.h"

void export_call_init(struct export_call *m)
{
    *m = (struct export_call){.row = store_call_none};
    buf_init(&m->request, EXPORT_TEXT_MAX);
    buf_init(&m->reply, EXPORT_TEXT_MAX);
    buf_init(&m->reasoning, EXPORT_TEXT_MAX);
    buf_init(&m->answer, EXPORT_TEXT_MAX);
}

void export_call_release(struct export_call *m)
{
    buf_release(&m->request);
    buf_release(&m->reply);
    buf_release(&m->reasoning);
    buf_release(&m->answer);
}

void export_add_prose(struct buf *b, uint64_t seed, size_t size)
{
    add_prose(b, seed, size, 99, STR(" \xc3\xa4 "));
}

static void export_call_numbers(struct store_call *row, unsigned n)
{
    bool known = n % 4 != 0;

    row->started_ms = 3600000 * (int64_t)(n / 100) + n;
    row->first_ms = known ? row->started_ms + 1 : -1;
    row->reasoning_ms = row->has_reasoning ? row->started_ms + 2 : -1;
    row->answer_ms = known ? row->started_ms + 3 : -1;
    row->ended_ms = n % 9 ? row->started_ms + 50 : -1;
    row->status = n % 11 ? 200 : 502;
    row->stream = n % 2;
    row->complete = n % 13 != 0;
    row->reasoning_exact = n % 6 == 0;
    row->cap_tokens = n % 5 ? -1 : 1000;
    row->input_tokens = known ? (int64_t)n : -1;
    row->output_tokens = known ? 2 * (int64_t)n : -1;
    row->reasoning_tokens = row->has_reasoning ? (int64_t)n % 1200 : -1;
    row->cache_read_tokens = known ? 3 : -1;
    row->cache_write_tokens = known ? 4 : -1;
    row->cost_usd = known ? n * 0.25 : -1;
}

static void export_call_names(struct export_call *m, unsigned n)
{
    struct store_call *row = &m->row;

    snprintf(m->id, sizeof m->id, "call-%06u", n);
    snprintf(m->session, sizeof m->session, "session-%u", n / EXPORT_TURNS);
    snprintf(m->key, sizeof m->key, "key-%u", n / EXPORT_TURNS % 3);
    snprintf(m->model, sizeof m->model, "model-%u", n / EXPORT_TURNS % 4);
    row->id = str_c(m->id);
    row->session_id = str_c(m->session);
    row->key_name = str_c(m->key);
    row->model = str_c(m->model);
    row->parent_id = n % 8 ? STR("") : STR("parent");
    row->route = STR("/v1/chat/completions");
    row->provider = STR("provider");
    row->upstream_model = STR("upstream");
    row->dialect = STR("openai");
    row->upstream_dialect = STR("anthropic");
    row->stop = STR("stop");
    row->level = STR("high");
    row->cut = n % 21 ? STR("") : STR("budget");
    row->state = row->has_reasoning ? STR("complete") : STR("none");
    row->source = STR("field");
    row->subject = STR("somebody");
    row->talk = STR("a digest that is a secret");
}

/* Each turn repeats the previous turn's request; every 40th call is long. */
static void export_call_texts(struct export_call *m, unsigned n)
{
    size_t size = n % 40 == 39 ? 300000 : n % 5 == 4 ? 0 : 900;
    struct store_call *row = &m->row;

    buf_printf(&m->request, "{\"messages\":[");
    for (unsigned i = n / EXPORT_TURNS * EXPORT_TURNS; i <= n; i++)
        export_add_prose(&m->request, i, 700);
    buf_add(&m->request, STR("],\"stream\":true}"));
    export_add_prose(&m->reply, n + 1000000, size);
    export_add_prose(&m->answer, n + 2000000, size);
    if (row->has_reasoning)
        export_add_prose(&m->reasoning, n + 3000000, 500);
    snprintf(m->decision,
             sizeof m->decision,
             n % 3 ? "[TOOL_CALL] look, take: because of %u" : "[DIRECT] because of %u",
             n);
    snprintf(m->segments,
             sizeof m->segments,
             "[{\"kind\":\"reasoning\",\"at\":0,\"size\":%zu,\"tokens\":5,\"exact\":true,"
             "\"started_us\":10,\"ended_us\":20,\"state\":\"complete\"},"
             "{\"kind\":\"tool_call\",\"at\":0,\"cut\":true}]",
             m->reasoning.n);
    row->request = buf_str(&m->request);
    row->reply = buf_str(&m->reply);
    row->answer = buf_str(&m->answer);
    row->reasoning = buf_str(&m->reasoning);
    row->reasoning_summary = row->has_reasoning ? STR("in short") : STR("");
    row->tool_calls = n % 3 ? STR("[{\"name\":\"look\"},{\"name\":\"take\"}]") : STR("");
    row->tools = n % 3 ? STR("[\"look\",\"take\",\"look\"]") : STR("");
    row->attempts = STR("[{\"provider\":\"one\"}]");
    row->asked = utf8_cut_count(str_slice(row->request, 13, 100), 40);
    row->decision = n % 11 ? str_c(m->decision) : STR("");
    row->segments = row->has_reasoning ? str_c(m->segments) : STR("");
    row->step = n % 2 ? STR("a step") : STR("");
    row->error_code = n % 11 ? STR("") : STR("upstream");
    row->error_message = n % 11 ? STR("") : STR("it broke: \"\n\t'");
}

void export_call_make(struct export_call *m, unsigned n)
{
    buf_reset(&m->request);
    buf_reset(&m->reply);
    buf_reset(&m->reasoning);
    buf_reset(&m->answer);
    m->row = store_call_none;
    m->row.has_reasoning = n % 3 == 1;
    export_call_names(m, n);
    export_call_numbers(&m->row, n);
    export_call_texts(m, n);
}
