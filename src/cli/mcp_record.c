/* mcp_record.c - tools of `rationale mcp` over the store: the record of the decisions of models.
 *
 * A caller sees the same as in the history API: over HTTP the sessions of its key, over stdio
 * everything, because the user who started the server can read the configuration.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/mcp_record.h"

#include "base/json_get.h"
#include "cli/daemon.h"
#include "mcp/rpc.h"
#include "wire/redact_reasoning.h"

#define ANSWER_MAX ((size_t)8 << 20) /* bytes of JSON; it is sent twice, also as text */
#define LIMIT_USUAL 20
#define WHY_LIMIT 5
#define SETTLE_MS 30000 /* the longest wait for calls that were acknowledged before */

static struct query_asker cli_asker_of(const struct cli_mcp_record *r, const struct mcp_ask *ask)
{
    const struct config_key *key = ask->who;
    bool operator_asks = !key || key->role == CONFIG_OPERATOR;

    assert(r->config);
    return (struct query_asker){.key_name = operator_asks ? STR("") : key->name,
                                .hide_reasoning =
                                    !config_shows_reasoning(r->config, key, CONFIG_SHOW_UNSET),
                                .redact = redact_history_text,
                                .now_us = clock_wall_ms(&clock_real) * 1000};
}

/* An unused reader, or a new one, once the tables have every call that was acknowledged before.
 * The answer begins with a note if they cannot have them. */
static bool cli_take_reader(struct cli_mcp_record *r, struct mcp_answer *answer,
                            struct reader **out, struct err *e)
{
    enum daemon_settled settled = daemon_settle(r->config, SETTLE_MS);
    char journal[FILE_PATH_MAX];

    *out = NULL;
    if (settled == DAEMON_TIMEOUT)
        return err_set(e,
                       ERR_TIMEOUT,
                       "the daemon's newest calls are not in the tables yet, so the answer would "
                       "lack them: try again later");
    pthread_mutex_lock(&r->lock);
    assert(r->idle_count <= COUNT_OF(r->idle));
    if (r->idle_count)
        *out = r->idle[--r->idle_count];
    pthread_mutex_unlock(&r->lock);
    if (!*out && !reader_open(r->config->store_url, out, e))
        return false;
    if (settled == DAEMON_NONE && daemon_left_records(r->config, *out, journal))
        mcp_answer_text(answer,
                        STR("The newest records are missing here: they wait in the journal "
                            "of a daemon that was killed, until `rationale serve` runs."));
    return true;
}

static void cli_give_reader(struct cli_mcp_record *r, struct reader *reader)
{
    assert(r->idle_count <= COUNT_OF(r->idle));
    pthread_mutex_lock(&r->lock);
    if (reader && r->idle_count < COUNT_OF(r->idle)) {
        r->idle[r->idle_count++] = reader;
        reader = NULL;
    }
    pthread_mutex_unlock(&r->lock);
    reader_close(reader);
}

static str mcp_record_text_of(const struct mcp_ask *ask, const char *name)
{
    return mcp_member(ask->doc, ask->arguments, str_c(name), ask->arena);
}

static int64_t mcp_record_limit_of(const struct mcp_ask *ask, int64_t usual)
{
    return json_get_i64(ask->doc, ask->arguments, "limit", usual);
}

/* Runs one query, or says why it failed. */
static void mcp_record_give(struct mcp_answer *answer, bool ok, const struct buf *out,
                            const struct err *e)
{
    if (ok && buf_full(out))
        mcp_answer_fail(answer, "the answer is larger than %zu bytes: ask for less", ANSWER_MAX);
    else if (ok)
        mcp_answer_structured(answer, buf_str(out));
    else
        mcp_answer_fail(answer, "%s", e->text);
}

static void search_decisions(void *ctx, const struct mcp_ask *ask, struct mcp_answer *answer)
{
    struct cli_mcp_record *r = ctx;
    struct query_asker asker = cli_asker_of(r, ask);
    struct reader *reader;
    struct query_filter f = query_filter_none;
    struct query_page page = {.limit = mcp_record_limit_of(ask, LIMIT_USUAL),
                              .page = 1,
                              .cursor = mcp_record_text_of(ask, "cursor"),
                              .sort = STR("")};
    struct buf out;
    struct err e;
    bool ok;

    f.search = mcp_record_text_of(ask, "query");
    f.session_id = mcp_record_text_of(ask, "session_id");
    f.model = mcp_record_text_of(ask, "model");
    f.tool = mcp_record_text_of(ask, "tool");
    buf_init(&out, ANSWER_MAX);
    ok = cli_take_reader(r, answer, &reader, &e) &&
         query_decisions(reader, &asker, &f, &page, &out, &e);
    cli_give_reader(r, reader);
    mcp_record_give(answer, ok, &out, &e);
    buf_release(&out);
}

/* Appends the reasoning of the newest call among the decisions. */
static bool cli_add_thoughts(struct reader *reader, const struct query_asker *asker,
                             const struct mcp_ask *ask, str decisions, struct buf *out,
                             struct err *e)
{
    const struct json_node *list, *first;
    struct json doc;
    struct buf segments;
    bool ok;

    buf_init(&segments, ANSWER_MAX);
    ok = json_open(&doc, decisions, e);
    list = json_find(&doc, ok ? json_root(&doc) : NULL, STR("decisions"));
    first = json_at(&doc, list, 0);
    buf_add(out, STR("{\"decisions\":"));
    buf_add(out, list ? json_raw(&doc, list) : STR("[]"));
    if (ok && first &&
        query_call_segments(reader,
                            asker,
                            mcp_member(&doc, first, STR("interaction_id"), ask->arena),
                            &segments,
                            e)) {
        buf_add(out, STR(",\"newest_call\":"));
        buf_add(out, buf_str(&segments));
    }
    buf_add_c(out, '}');
    buf_release(&segments);
    json_release(&doc);
    return ok;
}

static void mcp_record_answer_why(void *ctx, const struct mcp_ask *ask, struct mcp_answer *answer)
{
    struct cli_mcp_record *r = ctx;
    struct query_asker asker = cli_asker_of(r, ask);
    struct reader *reader;
    struct query_filter f = query_filter_none;
    struct query_page page = {.limit = mcp_record_limit_of(ask, WHY_LIMIT),
                              .page = 1,
                              .cursor = STR(""),
                              .sort = STR("")};
    struct buf decisions, out;
    struct err e;
    bool ok;

    f.tool = mcp_record_text_of(ask, "tool");
    f.session_id = mcp_record_text_of(ask, "session_id");
    buf_init(&decisions, ANSWER_MAX);
    buf_init(&out, ANSWER_MAX);
    ok = cli_take_reader(r, answer, &reader, &e) &&
         query_decisions(reader, &asker, &f, &page, &decisions, &e) &&
         cli_add_thoughts(reader, &asker, ask, buf_str(&decisions), &out, &e);
    cli_give_reader(r, reader);
    mcp_record_give(answer, ok, &out, &e);
    buf_release(&out);
    buf_release(&decisions);
}

static void cli_show_session(void *ctx, const struct mcp_ask *ask, struct mcp_answer *answer)
{
    struct cli_mcp_record *r = ctx;
    struct query_asker asker = cli_asker_of(r, ask);
    struct reader *reader;
    struct buf out;
    struct err e;
    bool ok;

    buf_init(&out, ANSWER_MAX);
    ok = cli_take_reader(r, answer, &reader, &e) &&
         query_session(reader, &asker, mcp_record_text_of(ask, "session_id"), &out, &e);
    cli_give_reader(r, reader);
    mcp_record_give(answer, ok, &out, &e);
    buf_release(&out);
}

#define HINTS "{\"readOnlyHint\":true,\"idempotentHint\":true,\"openWorldHint\":false}"

static const struct mcp_tool tools[] = {
    {.name = "search_decisions",
     .title = "Search decisions",
     .description = "Searches the decision log: what models decided in each call (which tools to "
                    "call, or to answer) and the reasoning for it, newest first.",
     .input = "{\"type\":\"object\",\"properties\":{\"query\":{\"type\":\"string\","
              "\"description\":\"words that must be in the entry\"},"
              "\"session_id\":{\"type\":\"string\",\"description\":\"only of this "
              "session\"},\"model\":{\"type\":\"string\",\"description\":\"only of this "
              "model\"},\"tool\":{\"type\":\"string\",\"description\":\"only where this "
              "tool was called\"},\"cursor\":{\"type\":\"string\","
              "\"description\":\"next_cursor of the page before\"},"
              "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":200,"
              "\"description\":\"at most so many; by default 20\"}},"
              "\"additionalProperties\":false}",
     .annotations = HINTS,
     .run = search_decisions},
    {.name = "why_was_this_called",
     .title = "Why was this called",
     .description = "Tells why a tool was called: the decisions that led to it, newest first, and "
                    "the whole reasoning of the newest call.",
     .input = "{\"type\":\"object\",\"properties\":{\"tool\":{\"type\":\"string\","
              "\"description\":\"TOOL or SERVER.TOOL\"},"
              "\"session_id\":{\"type\":\"string\",\"description\":\"only in this "
              "session\"},\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":200,"
              "\"description\":\"at most so many; by default 5\"}},\"required\":[\"tool\"],"
              "\"additionalProperties\":false}",
     .annotations = HINTS,
     .run = mcp_record_answer_why},
    {.name = "show_session",
     .title = "Show a session",
     .description = "Shows one session whole: its calls, their reasoning, tools and usage, as a "
                    "timeline.",
     .input = "{\"type\":\"object\",\"properties\":{\"session_id\":{\"type\":\"string\","
              "\"description\":\"the session\"}},\"required\":[\"session_id\"],"
              "\"additionalProperties\":false}",
     .annotations = HINTS,
     .run = cli_show_session},
};

void cli_mcp_record_init(struct cli_mcp_record *r, const struct config *config)
{
    *r = (struct cli_mcp_record){.config = config};
    pthread_mutex_init(&r->lock, NULL);
    r->set = (struct mcp_set){.tools = tools, .tool_count = COUNT_OF(tools), .ctx = r};
}

void cli_mcp_record_release(struct cli_mcp_record *r)
{
    assert(r->idle_count <= COUNT_OF(r->idle));
    while (r->idle_count)
        reader_close(r->idle[--r->idle_count]);
    pthread_mutex_destroy(&r->lock);
}
