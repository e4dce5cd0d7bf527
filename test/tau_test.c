/* tau_test.c - replays recorded conversations of an airline's agent through the agent loop.
 *
 * Each assistant message of a recording is a model reply, and each tool message a tool result. Each
 * user message starts a run with the history so far. The resulting messages must equal the
 * recording, and each body sent to the model must be valid for every provider.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/run.h"
#include "base/file.h"
#include "base/json.h"
#include "history_help.h"
#include "tool_help.h"

#include <stdatomic.h>
#include <unistd.h>

#define FILE_MAX ((size_t)32 << 20)
#define RUN_ARENA_MAX ((size_t)1 << 28)
#define TALK_MAX 256
#define DURABLE 10 /* number of conversations that also use a log, and are replayed from it */

/* A conversation and the current position in it. */
struct taped {
    const struct json *doc;
    const struct json_node *messages[TALK_MAX];
    size_t n, at;
    struct arena *a;
    size_t bodies, asked;
};

static const char *const tools[] = {"book_reservation",
                                    "calculate",
                                    "cancel_reservation",
                                    "get_reservation_details",
                                    "get_user_details",
                                    "list_all_airports",
                                    "search_direct_flight",
                                    "search_onestop_flight",
                                    "send_certificate",
                                    "think",
                                    "transfer_to_human_agents",
                                    "update_reservation_baggages",
                                    "update_reservation_flights",
                                    "update_reservation_passengers"};

static str text_of(const struct taped *t, const struct json_node *v, const char *key)
{
    str s;

    return json_text(t->doc, json_find(t->doc, v, str_c(key)), t->a, &s) ? s : STR("");
}

static bool role_is(const struct taped *t, size_t i, const char *role)
{
    return i < t->n && json_is(t->doc, json_find(t->doc, t->messages[i], STR("role")), str_c(role));
}

/* ---- recorded model and tools ---- */

static bool ask(void *ctx, const struct ask_request *q, const _Atomic bool *cancel, struct arena *a,
                struct ask_reply *reply)
{
    struct taped *t = ctx;
    const struct json_node *m = t->messages[t->at], *calls;

    (void)cancel;
    t->bodies += check_histories(q->body);
    t->asked++;
    CHECK(role_is(t, t->at, "assistant"));
    t->at++;
    *reply = (struct ask_reply){.id = STR("call"),
                                .text = text_of(t, m, "content"),
                                .reasoning = STR(""),
                                .usage = chat_usage_none,
                                .recorded = true,
                                .cost_usd = -1};
    calls = json_find(t->doc, m, STR("tool_calls"));
    reply->calls = arena_zero(a, json_count(t->doc, calls) + 1, sizeof *reply->calls);
    for (const struct json_node *c = json_first(t->doc, calls); c;
         c = json_next(t->doc, calls, c)) {
        const struct json_node *f = json_find(t->doc, c, STR("function"));

        reply->calls[reply->call_count++] = (struct ask_call){
            text_of(t, c, "id"), text_of(t, f, "name"), text_of(t, f, "arguments")};
    }
    return true;
}

static bool tool_says(void *ctx, const struct tool_call *c, struct buf *out, struct err *e)
{
    struct taped *t = *(struct taped **)ctx;
    const struct json_node *m = t->messages[t->at];

    (void)e;
    CHECK(role_is(t, t->at, "tool"));
    CHECK(str_eq(text_of(t, m, "name"), c->name));
    t->at++;
    buf_add(out, text_of(t, m, "content"));
    return true;
}

static struct toolbox *box_of(struct taped **current)
{
    struct toolbox *b = toolbox_new(&clock_real);
    struct err e;

    for (size_t i = 0; i < COUNT_OF(tools); i++)
        if (!toolbox_add(b,
                         &(struct tool){.name = str_c(tools[i]),
                                        .description = STR("One of the airline's."),
                                        .flags = TOOL_PURE,
                                        .run = tool_says,
                                        .ctx = current},
                         &e))
            fail_msg("%s", e.text);
    return b;
}

/* ---- comparing with the recording ---- */

static void same_calls(const struct json *da, const struct json_node *a, const struct json *db,
                       const struct json_node *b, struct arena *arena)
{
    const struct json_node *x = json_first(da, a), *y = json_first(db, b);

    CHECK_INT(json_count(da, a), json_count(db, b));
    while (x && y) {
        const struct json_node *f = json_find(da, x, STR("function")),
                               *g = json_find(db, y, STR("function"));
        str s, t;

        CHECK(json_text(da, json_find(da, f, STR("name")), arena, &s) &&
              json_text(db, json_find(db, g, STR("name")), arena, &t) && str_eq(s, t));
        CHECK(json_text(da, json_find(da, f, STR("arguments")), arena, &s) &&
              json_text(db, json_find(db, g, STR("arguments")), arena, &t) && same_json(s, t));
        x = json_next(da, a, x);
        y = json_next(db, b, y);
    }
}

/* Ids may differ if the recording has an id twice; check_histories checks how they pair. */
static void same_messages(const struct taped *t, str messages, size_t n)
{
    struct json doc;
    struct err e;
    const struct json_node *root, *m;
    size_t i = 0;

    json_init(&doc);
    CHECK(json_parse(&doc, messages, &e));
    root = json_root(&doc);
    for (m = json_first(&doc, root); m; m = json_next(&doc, root, m), i++) {
        const struct json_node *want = t->messages[i];
        str role, content = STR("");

        CHECK_F(i < n, "more messages than were recorded");
        CHECK(json_text(&doc, json_find(&doc, m, STR("role")), t->a, &role));
        CHECK(str_eq(role, text_of(t, want, "role")));
        if (!json_text(&doc, json_find(&doc, m, STR("content")), t->a, &content))
            content = STR("");
        CHECK(str_eq(content, text_of(t, want, "content")));
        same_calls(&doc,
                   json_find(&doc, m, STR("tool_calls")),
                   t->doc,
                   json_find(t->doc, want, STR("tool_calls")),
                   t->a);
    }
    CHECK_INT(i, n);
    json_release(&doc);
}

/* The number of model replies before the next user message. */
static unsigned turns_from(const struct taped *t, size_t i)
{
    unsigned n = 0;

    for (; i < t->n && !role_is(t, i, "user"); i++)
        n += role_is(t, i, "assistant");
    return n;
}

struct played {
    size_t runs, bodies, asked, stopped, replayed;
};

/* Plays from one user message to the next; returns the history with the new messages. */
static str play_turn(struct taped *t, struct toolbox *b, struct agent_log *log, str history,
                     struct played *sum)
{
    size_t start = t->at;
    struct agent_options o = {.run = arena_printf(t->a, "run-%zu", sum->runs),
                              .app = STR("tau"),
                              .session = STR("s"),
                              .input = STR("{}"),
                              .model_name = STR("m"),
                              .level = STR(""),
                              .messages = history,
                              .user = text_of(t, t->messages[start], "content"),
                              .system = STR(""),
                              .extra = STR(""),
                              .tools = b,
                              .ask = {ask, t},
                              .limits = {.tokens = -1},
                              .result_shown = (size_t)1 << 20,
                              .log = log,
                              .clock = &clock_real};
    struct agent_result r, again;
    struct err e;

    t->at++;
    o.limits.iterations = turns_from(t, t->at);
    if (!o.limits.iterations) /* the conversation ends with a user message */
        return STR("");
    if (!agent_run(&o, t->a, &r, &e))
        fail_msg("%s", e.text);
    CHECK_F(r.end == AGENT_FINISHED || str_eq(r.reason, STR("max_iterations_reached")),
            STR_FMT,
            STR_ARG(r.reason));
    sum->stopped += r.end == AGENT_STOPPED;
    sum->runs++;
    same_messages(t, r.messages, t->at);
    if (log) {
        o.replay = true;
        CHECK(agent_run(&o, t->a, &again, &e));
        CHECK(str_eq(again.messages, r.messages) && again.step_count == r.step_count);
        sum->replayed++;
    }
    return str_slice(r.messages, 1, r.messages.n - 1);
}

static void play(const struct json *doc, const struct json_node *traj, struct agent_log *log,
                 struct played *sum)
{
    struct arena a;
    struct taped t = {.doc = doc, .a = &a}, *current = &t;
    struct toolbox *b = box_of(&current);
    str history;

    arena_init(&a, RUN_ARENA_MAX);
    for (const struct json_node *m = json_first(doc, traj); m; m = json_next(doc, traj, m)) {
        CHECK(t.n < TALK_MAX);
        t.messages[t.n++] = m;
    }
    CHECK(role_is(&t, 0, "system"));
    history = json_raw(doc, t.messages[0]);
    for (t.at = 1; t.at < t.n && history.n;) {
        CHECK(role_is(&t, t.at, "user"));
        history = play_turn(&t, b, log, history, sum);
    }
    CHECK_INT(t.at, t.n);
    sum->bodies += t.bodies;
    sum->asked += t.asked;
    toolbox_free(b);
    arena_release(&a);
}

static struct agent_log *log_in(const char *dir)
{
    char url[128];
    struct agent_log *log;
    struct err e;

    (void)snprintf(url, sizeof url, "sqlite:%s/r.db", dir);
    if (!agent_log_open(str_c(url), &log, &e))
        fail_msg("%s", e.text);
    return log;
}

TEST(recorded_conversations_run_again_with_histories_that_every_provider_takes)
{
    const char *path = test_corpora("tau-airline/gpt-4o-airline-trajectories.json");
    char dir[] = "/tmp/tau_test.XXXXXX", command[64];
    struct agent_log *log;
    struct played sum = {0};
    struct arena a;
    struct json doc;
    struct err e;
    size_t n = 0;
    str text;

    if (!path)
        return;
    arena_init(&a, FILE_MAX);
    json_init(&doc);
    CHECK(mkdtemp(dir));
    log = log_in(dir);
    if (!file_read(&a, path, FILE_MAX, &text, &e) || !json_parse(&doc, text, &e))
        fail_msg("%s", e.text);
    for (const struct json_node *r = json_first(&doc, json_root(&doc)); r;
         r = json_next(&doc, json_root(&doc), r), n++)
        play(&doc, json_find(&doc, r, STR("traj")), n < DURABLE ? log : NULL, &sum);
    print_message("tau: %zu conversations, %zu runs (%zu stopped by their limit, %zu replayed), "
                  "%zu model calls, %zu bodies valid\n",
                  n,
                  sum.runs,
                  sum.stopped,
                  sum.replayed,
                  sum.asked,
                  sum.bodies);
    CHECK_INT(n, 200);
    CHECK_INT(sum.bodies, 6 * sum.asked);
    agent_log_close(log);
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    CHECK(system(command) == 0);
    json_release(&doc);
    arena_release(&a);
}

/* ---- histories of our own ---- */

/* Irregular histories: the model is informed, and the resulting history is valid for every
 * provider. */
static const char *const bodies[] = {
    /* an id twice, in two turns */
    "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"},"
    "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"call_0\",\"type\":"
    "\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},"
    "{\"role\":\"tool\",\"tool_call_id\":\"call_0\",\"content\":\"\"},"
    "{\"role\":\"assistant\",\"content\":\"so\",\"tool_calls\":[{\"id\":\"call_0\",\"type\":"
    "\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}},{\"id\":\"call_1\",\"type\":"
    "\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},"
    "{\"role\":\"tool\",\"tool_call_id\":\"call_1\",\"content\":\"x\"},"
    "{\"role\":\"tool\",\"tool_call_id\":\"call_0\",\"content\":\"y\"}]}",
    /* a user message directly after a tool message */
    "{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"s\"},"
    "{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":\"\","
    "\"tool_calls\":[{\"id\":\"x.y:1\",\"type\":\"function\",\"function\":{\"name\":\"f\","
    "\"arguments\":\"{\\\"a\\\":1}\"}},{\"id\":\"x.y:2\",\"type\":\"function\",\"function\":"
    "{\"name\":\"f\",\"arguments\":\"\"}}]},"
    "{\"role\":\"tool\",\"tool_call_id\":\"x.y:1\",\"content\":\"[1]\"},"
    "{\"role\":\"tool\",\"tool_call_id\":\"x.y:2\",\"content\":\"\"},"
    "{\"role\":\"user\",\"content\":\"and now?\"}]}",
    /* two user messages in a row */
    "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"},"
    "{\"role\":\"user\",\"content\":\"b\"},{\"role\":\"assistant\",\"content\":\"c\"},"
    "{\"role\":\"assistant\",\"content\":\"d\"},{\"role\":\"user\",\"content\":\"e\"}]}",
};

TEST(histories_that_one_provider_takes_and_another_does_not_are_made_right)
{
    for (size_t i = 0; i < COUNT_OF(bodies); i++)
        CHECK_INT(check_histories(str_c(bodies[i])), 6);
}

TEST_MAIN(T(histories_that_one_provider_takes_and_another_does_not_are_made_right),
          T(recorded_conversations_run_again_with_histories_that_every_provider_takes))
