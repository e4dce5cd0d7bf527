/* Ownership of sessions: several keys use the same session name.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "query_help.h"

struct side {
    struct place place;
    struct store *store;
    struct reader *reader;
    struct buf out;
    struct json doc;
    struct arena arena;
};

static void side_init(struct side *s)
{
    struct err e;

    place_init(&s->place);
    s->store = open_store(&s->place);
    CHECK_F(reader_open(str_c(s->place.url), &s->reader, &e), "%s", e.text);
    buf_init(&s->out, QUERY_OUT_MAX);
    json_init(&s->doc);
    arena_init(&s->arena, 1 << 20);
}

static void side_release(struct side *s)
{
    reader_close(s->reader);
    store_close(s->store);
    buf_release(&s->out);
    json_release(&s->doc);
    arena_release(&s->arena);
    place_release(&s->place);
}

static struct store_call call(const char *id, const char *session, const char *key)
{
    struct store_call row = store_call_none;

    row.id = str_c(id);
    row.session_id = str_c(session);
    row.key_name = str_c(key);
    row.subject = row.key_name;
    row.route = STR("/v1/chat/completions");
    row.started_ms = 1000;
    row.ended_ms = 2000;
    row.status = 200;
    row.answer = str_c(id);
    row.decision = STR("[DIRECT] so");
    return row;
}

static void put(struct side *s, const char *id, const char *session, const char *key)
{
    struct store_call row = call(id, session, key);

    store_call_put(s->store, &row, NULL);
}

static struct query_asker asker(const char *key)
{
    return (struct query_asker){.key_name = str_c(key)};
}

static bool parsed(struct side *s, bool ok, const struct err *e)
{
    struct err bad;

    if (!ok) {
        CHECK_F(e->code == ERR_NOT_FOUND, "%s", e->text);
        return false;
    }
    CHECK_F(json_parse(&s->doc, buf_str(&s->out), &bad), "%s", bad.text);
    return true;
}

/* The ids of the calls that a key sees in a session, joined; "-" if it sees no such session. */
static const char *seen(struct side *s, const char *key, const char *session, char *out)
{
    struct query_asker a = asker(key);
    const struct json_node *timeline, *v;
    size_t n = 0;
    struct err e;
    str id;

    buf_reset(&s->out);
    if (!parsed(s, query_session(s->reader, &a, str_c(session), &s->out, &e), &e))
        return "-";
    timeline = json_find(&s->doc, json_root(&s->doc), STR("chronological_timeline"));
    for (v = json_first(&s->doc, timeline); v; v = json_next(&s->doc, timeline, v)) {
        CHECK(json_text(&s->doc, json_find(&s->doc, v, STR("event_id")), &s->arena, &id));
        n += (size_t)snprintf(out + n, 100 - n, "%s" STR_FMT, n ? " " : "", STR_ARG(id));
    }
    if (!*key)
        return out;
    CHECK(json_text(
        &s->doc, json_find(&s->doc, json_root(&s->doc), STR("session_id")), &s->arena, &id));
    CHECK_STR(id, session); /* under the name that the client chose */
    return out;
}

static void check_seen(struct side *s, const char *key, const char *session, const char *ids)
{
    char out[100] = "";

    CHECK_STR(str_c(seen(s, key, session, out)), ids);
}

TEST(a_second_key_of_the_same_name_has_a_session_of_its_own)
{
    struct side s;

    side_init(&s);
    put(&s, "a1", "shared", "alice");
    put(&s, "b1", "shared", "bob");
    put(&s, "a2", "shared", "alice");
    settle(s.store);
    put(&s, "b2", "shared", "bob"); /* in another batch */
    put(&s, "c1", "shared", "carol");
    settle(s.store);
    check_seen(&s, "alice", "shared", "a1 a2");
    check_seen(&s, "bob", "shared", "b1 b2");
    check_seen(&s, "carol", "shared", "c1");
    check_seen(&s, "dave", "shared", "-");
    check_seen(&s, "", "shared", "a1 a2");
    CHECK_INT(ask(&s.place, "SELECT count(*) FROM alert_sessions"), 3);
    CHECK_INT(ask(&s.place, "SELECT count(*) FROM alert_sessions WHERE named = 'shared'"), 2);
    CHECK_INT(ask(&s.place, "SELECT count(DISTINCT key_name) FROM alert_sessions"), 3);
    side_release(&s);
}

TEST(whose_a_session_is_outlives_a_restart)
{
    struct side s;

    side_init(&s);
    put(&s, "a1", "shared", "alice");
    settle(s.store);
    store_close(s.store);
    s.store = open_store(&s.place);
    put(&s, "b1", "shared", "bob");
    settle(s.store);
    store_close(s.store);
    s.store = open_store(&s.place);
    put(&s, "b2", "shared", "bob");
    put(&s, "a3", "shared", "alice");
    settle(s.store);
    check_seen(&s, "alice", "shared", "a1 a3");
    check_seen(&s, "bob", "shared", "b1 b2");
    side_release(&s);
}

TEST(decisions_segments_and_lists_keep_keys_apart)
{
    struct query_filter f = query_filter_none;
    struct query_asker bob = asker("bob");
    struct side s;
    struct err e;

    side_init(&s);
    put(&s, "a1", "shared", "alice");
    put(&s, "b1", "shared", "bob");
    settle(s.store);
    CHECK(parsed(&s, query_session_decisions(s.reader, &bob, STR("shared"), &s.out, &e), &e));
    CHECK(str_find(buf_str(&s.out), STR("\"b1\"")) != STR_NONE);
    CHECK(str_find(buf_str(&s.out), STR("\"a1\"")) == STR_NONE);
    buf_reset(&s.out);
    CHECK(parsed(&s, query_session_segments(s.reader, &bob, STR("shared"), &s.out, &e), &e));
    buf_reset(&s.out);
    f.session_id = STR("shared");
    CHECK(parsed(&s, query_decisions(s.reader, &bob, &f, &page_one, &s.out, &e), &e));
    CHECK(str_find(buf_str(&s.out), STR("\"b1\"")) != STR_NONE);
    CHECK(str_find(buf_str(&s.out), STR("\"a1\"")) == STR_NONE);
    buf_reset(&s.out);
    CHECK(parsed(&s, query_sessions(s.reader, &bob, &f, &page_one, &s.out, &e), &e));
    CHECK(str_find(buf_str(&s.out), STR("\"session_id\":\"shared\"")) != STR_NONE);
    CHECK(str_find(buf_str(&s.out), STR("alice")) == STR_NONE);
    buf_reset(&s.out);
    f.session_id = STR("");
    CHECK(parsed(&s, query_sessions(s.reader, &everyone, &f, &page_one, &s.out, &e), &e));
    CHECK(str_find(buf_str(&s.out), STR("alice")) != STR_NONE);
    CHECK(str_find(buf_str(&s.out), STR("bob")) != STR_NONE);
    side_release(&s);
}

TEST(what_an_application_opened_for_nobody_is_not_a_clients_to_join)
{
    struct store_session app = {.id = STR("run-1"),
                                .alert_id = STR(""),
                                .agent_type = STR("policy"),
                                .alert_type = STR(""),
                                .status = STR("completed"),
                                .alert_data = STR(""),
                                .session_metadata = STR(""),
                                .error_message = STR(""),
                                .final_analysis = STR("secret"),
                                .started_us = 5,
                                .completed_us = 6,
                                .key_name = STR("")};
    struct store_call own = call("app-call", "run-1", "alice");
    struct side s;

    side_init(&s);
    store_session_put(s.store, &app);
    put(&s, "b1", "run-1", "bob"); /* in the same batch */
    settle(s.store);
    put(&s, "b2", "run-1", "bob");
    own.route = STR("agent:policy"); /* the application's own call states its owner */
    store_call_put(s.store, &own, NULL);
    settle(s.store);
    check_seen(&s, "bob", "run-1", "b1 b2");
    check_seen(&s, "alice", "run-1", "app-call");
    check_seen(&s, "", "run-1", "app-call");
    side_release(&s);
}

TEST(a_call_that_begins_in_anothers_session_does_not_touch_it)
{
    struct store_call begun = call("b1", "shared", "bob");
    struct side s;

    side_init(&s);
    put(&s, "a1", "shared", "alice");
    settle(s.store);
    store_call_begin(s.store, &begun);
    settle(s.store);
    CHECK_INT(ask(&s.place,
                  "SELECT count(*) FROM alert_sessions WHERE session_id = 'shared' AND status ="
                  " 'completed'"),
              1);
    CHECK_INT(ask(&s.place,
                  "SELECT count(*) FROM alert_sessions WHERE named = 'shared' AND key_name = 'bob'"
                  " AND status = 'in_progress'"),
              1);
    store_close(s.store); /* the session will never end */
    s.store = open_store(&s.place);
    settle(s.store);
    check_seen(&s, "bob", "shared", "b1");
    check_seen(&s, "alice", "shared", "a1");
    side_release(&s);
}

TEST(nobody_takes_the_place_of_a_session_to_come)
{
    struct side s;

    side_init(&s);
    put(&s, "a1", "shared", "alice");
    put(&s, "c1", "shared~bob", "carol");
    put(&s, "b1", "shared", "bob");
    settle(s.store);
    check_seen(&s, "bob", "shared", "b1");
    check_seen(&s, "carol", "shared~bob", "c1");
    side_release(&s);
}

TEST_MAIN(T(a_second_key_of_the_same_name_has_a_session_of_its_own),
          T(whose_a_session_is_outlives_a_restart), T(decisions_segments_and_lists_keep_keys_apart),
          T(what_an_application_opened_for_nobody_is_not_a_clients_to_join),
          T(a_call_that_begins_in_anothers_session_does_not_touch_it),
          T(nobody_takes_the_place_of_a_session_to_come))
