/* incident_limits_test.c - time that is over, models that hang, room that is shared.
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

TEST_MAIN(T(an_investigation_whose_time_is_over_analyses_what_there_is),
          T(a_model_that_hangs_is_cut_off_in_the_end),
          T(the_share_of_each_text_is_as_large_as_all_allow))
