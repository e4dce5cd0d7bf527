/* incident_limits_test.c - expired time limits, models that hang, shared capacity.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/data.h"
#include "incident_help.h"

static const char tools[] =
    "[{\"name\":\"slow\",\"annotations\":{\"readOnlyHint\":true},\"slow\":1.0,\"text\":\"late\"},"
    "{\"name\":\"events\",\"annotations\":{\"readOnlyHint\":true},\"text\":\"none\"}]";

static const char one[] = "agents: {A: {alert_types: [t], mcp_servers: [k]}}";

#define CALL(tool, parameters, reason)                                                             \
    "{\"server\":\"k\",\"tool\":\"" tool "\",\"parameters\":" parameters ",\"reason\":\"" reason   \
    "\"}"

static const char *slowly(str system, str p, size_t replies)
{
    (void)system, (void)replies;
    if (str_starts(p, STR("# Choose")))
        return "[" CALL("slow", "{}", "r") "]";
    return str_starts(p, STR("# Go on"))
               ? "{\"continue\": true, \"tools\": [" CALL("events", "{}", "r") "]}"
               : "As far as time allowed.";
}

TEST(an_investigation_whose_time_is_over_analyses_what_there_is)
{
    struct scene s;
    struct incident_options o;
    struct incident_report r;

    scene_init(&s, tools, one, slowly);
    s.local.host.gateway->setup->config->incidents.timeout_ms = 1200;
    o = side_options(&s, "t");
    r = side_run(&s, &o);
    CHECK(r.end == INCIDENT_COMPLETED);
    CHECK_STR(r.final_analysis, "As far as time allowed.");
    CHECK(has(s.prompts[s.prompt_count - 1], "# Analyse what there is"));
    CHECK(has(r.stages, "time_limit_exceeded"));
    scene_release(&s);
}

/* If the input of a run could not be read, the run could not resume after a crash. */
TEST(the_input_of_a_run_is_whole_however_many_quotes_the_alert_has)
{
    struct incident_options o, read;
    struct incident_report r;
    struct agent_row row;
    struct scene s;
    struct buf data;
    struct arena a;
    struct err e;

    buf_init(&data, (size_t)16 << 20);
    buf_add(&data, STR("{\"list\":[\"\""));
    for (int i = 0; i < 900; i++) {
        buf_add(&data, STR(",\""));
        for (int k = 0; k < 5000; k++)
            buf_add(&data, STR("\\\""));
        buf_add_c(&data, '"');
    }
    buf_add(&data, STR("]}"));
    CHECK(!buf_full(&data));
    scene_init(&s, tools, one, slowly);
    o = side_options(&s, "t");
    o.alert.data = buf_str(&data);
    r = side_run(&s, &o);
    CHECK(r.end == INCIDENT_COMPLETED);
    arena_init(&a, (size_t)256 << 20);
    CHECK_F(agent_log_run_get(s.local.host.log, o.run, &a, &row, &e), "%s", e.text);
    CHECK_F(incident_input_read(row.input, &a, &read, &e), "%s", e.text);
    CHECK(str_eq(read.alert.data, o.alert.data));
    arena_release(&a);
    scene_release(&s);
    buf_release(&data);
}

static const char *hangs(str system, str p, size_t replies)
{
    (void)system, (void)p, (void)replies;
    return "@";
}

TEST(a_model_that_hangs_is_cut_off_in_the_end)
{
    struct scene s;
    struct incident_options o;
    struct incident_report r;

    scene_init(&s, tools, one, hangs);
    s.local.host.gateway->setup->config->incidents.timeout_ms = 100;
    o = side_options(&s, "t");
    r = side_run(&s, &o);
    CHECK(r.end == INCIDENT_FAILED);
    CHECK_STR(r.reason, "time_limit_exceeded");
    scene_release(&s);
}

TEST(the_share_of_each_text_is_as_large_as_all_allow)
{
    const size_t sizes[] = {10, 1000, 1000};

    CHECK(agent_data_share(sizes, 3, 5000) >= 1000);
    CHECK(agent_data_share(sizes, 3, 1010) == 500);
    CHECK(agent_data_share(sizes, 3, 30) == 10);
    CHECK(agent_data_share(sizes, 0, 30) == 30);
    CHECK(agent_data_share(sizes, 3, 0) == 0);
}

static struct agent_row waiting_row(str id, str session, str app)
{
    return (struct agent_row){.id = id,
                              .app = app,
                              .session_id = session,
                              .status = STR("waiting"),
                              .reason = STR(""),
                              .key = STR(""),
                              .input = STR("{}"),
                              .result = STR(""),
                              .from = STR(""),
                              .care = AGENT_LATER};
}

/* The shortest of several attempts, in ns. */
static uint64_t pending_takes(struct agent_log *log)
{
    uint64_t least = UINT64_MAX;

    for (int i = 0; i < 7; i++) {
        uint64_t from = clock_mono_ns(&clock_real), took;
        struct buf out;
        struct err e;

        buf_init(&out, (size_t)1 << 20);
        CHECK_F(incident_pending(log, STR("r"), &out, &e), "%s", e.text);
        CHECK_F(has(buf_str(&out), "\"run_id\":\"r/one/A\""), STR_FMT, STR_ARG(buf_str(&out)));
        CHECK(!has(buf_str(&out), "r/chat/1") && !has(buf_str(&out), "other"));
        buf_release(&out);
        took = clock_mono_ns(&clock_real) - from;
        least = took < least ? took : least;
    }
    return least;
}

TEST(what_an_incident_waits_for_is_found_among_thousands_of_others_that_wait)
{
    enum { OTHERS = 20000 };
    struct agent_effect question = {.run = STR("r/one/A"),
                                    .kind = STR("approval"),
                                    .name = STR("restart"),
                                    .key = STR("k"),
                                    .request = STR("{}"),
                                    .result = STR("")};
    struct agent_row rows[] = {waiting_row(STR("r"), STR("s"), STR("incidents")),
                               waiting_row(STR("r/one/A"), STR("s"), STR("incidents.agent")),
                               waiting_row(STR("r/chat/1"), STR("s"), STR("incidents.chat"))};
    struct scene s;
    struct agent_log *log;
    uint64_t alone, among;
    char id[32];
    struct err e;

    scene_init(&s, tools, one, hangs);
    log = s.local.host.log;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        CHECK_F(agent_log_run_put(log, &rows[i], &e), "%s", e.text);
    CHECK_F(agent_log_put(log, &question, 1, &e), "%s", e.text);
    alone = pending_takes(log);
    for (int i = 0; i < OTHERS; i++) {
        struct agent_row row;

        (void)snprintf(id, sizeof id, "other%d/one/A", i);
        row = waiting_row(str_c(id), str_c(id), STR("incidents.agent"));
        CHECK_F(agent_log_run_put(log, &row, &e), "%s", e.text);
    }
    among = pending_takes(log);
    CHECK_F(among < 20 * alone + (uint64_t)5 * CLOCK_NS_PER_MS,
            "%llu us alone, %llu us among others",
            (unsigned long long)alone / 1000,
            (unsigned long long)among / 1000);
    scene_release(&s);
}

TEST_MAIN(T(the_input_of_a_run_is_whole_however_many_quotes_the_alert_has),
          T(what_an_incident_waits_for_is_found_among_thousands_of_others_that_wait),
          T(an_investigation_whose_time_is_over_analyses_what_there_is),
          T(a_model_that_hangs_is_cut_off_in_the_end),
          T(the_share_of_each_text_is_as_large_as_all_allow))
