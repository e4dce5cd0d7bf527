/* incident_chain_test.c - stages, replicas, synthesis, summary; react and native; questions
 * afterwards.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/react.h"
#include "incident_help.h"

static const char tools[] =
    "[{\"name\":\"pods_get\",\"annotations\":{\"readOnlyHint\":true},\"text\":\"pod of {}\","
    "\"schema\":{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"}}}},"
    "{\"name\":\"restart\",\"text\":\"restarted\"}]";

static const char chain[] =
    "agents:\n"
    "  Look: {mcp_servers: [k], custom_instructions: You are Look.}\n"
    "  Other: {mcp_servers: [k], custom_instructions: You are Other.}\n"
    "  Judge: {custom_instructions: You are Judge.}\n"
    "chains:\n"
    "  deep:\n"
    "    alert_types: [t]\n"
    "    stages:\n"
    "      - {name: gather, agents: [Look, Other]}\n"
    "      - {name: verify, agent: Look, replicas: 2, success_policy: all}\n"
    "    synthesis: {agent: Judge}\n"
    "    executive_summary: true\n"
    "  plain:\n"
    "    alert_types: [u]\n"
    "    stages: [{name: one, agents: [Look, Other]}]\n"
    "  strict:\n"
    "    alert_types: [v]\n"
    "    success_policy: all\n"
    "    stages: [{name: one, agents: [Look, Other]}]\n";

static const char *work(str system, str p, size_t replies)
{
    bool look = has(system, "You are Look.");

    (void)replies;
    if (str_starts(p, STR("# Choose")))
        return "[{\"server\":\"k\",\"tool\":\"pods_get\",\"parameters\":{\"name\":\"a\"},"
               "\"reason\":\"r\"}]";
    if (str_starts(p, STR("# Go on")))
        return "{\"continue\": false, \"reasoning\": \"enough\"}";
    if (str_starts(p, STR("# Make one")))
        return has(system, "You are Judge.") ? "Judged." : "Joined.";
    if (str_starts(p, STR("# Summarise")))
        return "All will be well.";
    return look ? "Look found it." : "Other found it.";
}

TEST(stages_run_in_order_their_agents_at_once_and_findings_are_made_one)
{
    struct scene s;
    struct incident_options o;
    struct incident_report r;
    struct agent_row row;
    struct err e;

    scene_init(&s, tools, chain, work);
    o = side_options(&s, "t");
    r = side_run(&s, &o);
    CHECK(r.end == INCIDENT_COMPLETED);
    CHECK_STR(r.final_analysis, "Judged.");
    CHECK_STR(r.summary, "All will be well.");
    CHECK(r.model_calls == 4 * 3 + 2 + 1 && r.tool_calls == 4);
    CHECK(has(r.markdown, "## Executive summary\n\nAll will be well."));
    CHECK(has(r.markdown, "### gather / Other\n\nOther found it."));
    CHECK(has(r.markdown, "### verify / Look-2"));
    CHECK_STR(r.tools, "[\"pods_get\",\"pods_get\",\"pods_get\",\"pods_get\"]");
    CHECK(agent_log_run_get(s.local.host.log, STR("run-1/verify/Look-2"), &s.arena, &row, &e));
    CHECK_STR(row.status, "done");
    CHECK(!str_eq(row.app, STR("incidents")));
    CHECK(agent_log_run_get(s.local.host.log, STR("run-1/gather/synthesis"), &s.arena, &row, &e));
    /* The second stage's prompts contain the results of the first. */
    for (size_t i = 0; i < s.prompt_count; i++)
        if (str_starts(s.prompts[i], STR("# Choose")))
            CHECK(has(s.prompts[i], "What earlier stages found") == (i >= 7));
    CHECK(has(r.stages, "\"name\":\"verify\"") && count_of(r.stages, "\"status\":\"done\"") == 6);
    scene_release(&s);
}

static const char *other_fails(str system, str p, size_t replies)
{
    return has(system, "You are Other.") ? "#500" : work(system, p, replies);
}

TEST(one_success_is_enough_unless_all_are_asked_for)
{
    struct scene s;
    struct incident_options o;
    struct incident_report r;

    scene_init(&s, tools, chain, other_fails);
    o = side_options(&s, "u");
    r = side_run(&s, &o);
    CHECK(r.end == INCIDENT_COMPLETED);
    CHECK(has(r.final_analysis, "Look found it."));
    CHECK(has(r.markdown, "No result: the provider said no (llm_error)"));
    o = side_options(&s, "v");
    o.run = STR("run-2");
    r = side_run(&s, &o);
    CHECK(r.end == INCIDENT_FAILED);
    CHECK_STR(r.reason, "llm_error");
    CHECK(has(r.error, "stage one"));
    scene_release(&s);
}

TEST(findings_without_an_agent_for_synthesis_are_made_one_too)
{
    struct scene s;
    struct incident_options o;
    struct incident_report r;

    scene_init(&s, tools, chain, work);
    o = side_options(&s, "u");
    r = side_run(&s, &o);
    CHECK_STR(r.final_analysis, "Joined.");
    CHECK_STR(r.summary, "");
    scene_release(&s);
}

/* A misspelt tool name would make the call run without approval, so it is refused. */
TEST(an_approval_of_a_tool_that_the_server_does_not_have_is_refused)
{
    const char *source = getenv("RATIONALE_SOURCE") ? getenv("RATIONALE_SOURCE") : ".";
    char path[64], yaml[1024];
    struct scene s;
    struct incident_options o;
    struct incident_report r;

    tools_file(path, tools);
    (void)snprintf(yaml,
                   sizeof yaml,
                   "mcp_servers:\n  k:\n    connection_params: {command: python3, args: [-SB, "
                   "%s/test/mcp/tools_server.py, %s]}\n"
                   "    approval: [restrat]\n"
                   "agents: {A: {alert_types: [t], mcp_servers: [k]}}\n",
                   source,
                   path);
    scene_init(&s, tools, yaml, work);
    o = side_options(&s, "t");
    r = side_run(&s, &o);
    (void)remove(path);
    CHECK(r.end == INCIDENT_FAILED && s.prompt_count == 0);
    CHECK_STR(r.reason, "tools_error");
    CHECK_F(has(r.error,
                "agents.yaml:4: the server k has no tool \"restrat\", did you mean "
                "\"restart\"?"),
            STR_FMT,
            STR_ARG(r.error));
    scene_release(&s);
}

/* ---- native ---- */

static const char *native(str system, str p, size_t replies)
{
    (void)system;
    if (replies == 0)
        return "!k__pods_get {\"name\":\"a\"}\nk__restart {}";
    CHECK(has(p, "<data name=\"result\">"));
    return "<thinking>so it is</thinking>The pod is fine.";
}

TEST(native_calls_functions_and_results_stand_between_marks)
{
    struct scene s;
    struct incident_options o;
    struct incident_report r;

    scene_init(
        &s, tools, "agents: {A: {alert_types: [t], mcp_servers: [k], strategy: native}}", native);
    s.reasons = "I look at the pod first.";
    o = side_options(&s, "t");
    r = side_run(&s, &o);
    CHECK(r.end == INCIDENT_COMPLETED && r.tool_calls == 2 && r.model_calls == 2);
    CHECK_STR(r.final_analysis, "The pod is fine.");
    CHECK_STR(r.tools, "[\"pods_get\",\"restart\"]");
    CHECK(has(s.bodies[0], "\"tools\":[") && has(s.bodies[0], "k__pods_get"));
    CHECK(!has(s.bodies[0], "<thinking>"));
    CHECK_STR(s.steps[0].action, "k.pods_get(name='a')");
    CHECK_STR(s.steps[0].reasoning, "I look at the pod first.");
    CHECK(has(r.markdown, "**k.restart**"));
    scene_release(&s);
}

/* ---- react ---- */

static const char *react(str system, str p, size_t replies)
{
    (void)system;
    if (replies == 0)
        return "Thought: see the pod\nAction: k__pods_get\nAction Input: {\"name\": \"a\"}\n"
               "Observation: made up\nFinal Answer: made up too";
    if (has(p, "restarted"))
        return "Thought: enough\nFinal Answer: It is\nfixed.";
    if (has(p, "there is no thought"))
        return "Thought: because\nAction: restart\nAction Input: ```json\n{}\n```";
    CHECK(str_starts(p, STR("Observation:\n<data name=\"result\">")));
    return "Action: restart\nAction Input: {}";
}

TEST(react_calls_in_text_with_a_thought_before_each)
{
    struct scene s;
    struct incident_options o;
    struct incident_report r;

    scene_init(
        &s, tools, "agents: {A: {alert_types: [t], mcp_servers: [k], strategy: react}}", react);
    o = side_options(&s, "t");
    r = side_run(&s, &o);
    CHECK(r.end == INCIDENT_COMPLETED && r.tool_calls == 2);
    CHECK_STR(r.final_analysis, "It is\nfixed.");
    CHECK(s.prompt_count == 4); /* one reply was rejected because it has no thought */
    CHECK(!has(s.bodies[0], "\"tools\":[") && !has(s.bodies[3], "tool_calls"));
    CHECK(has(s.prompts[0], "k__pods_get") && has(s.prompts[0], "Final Answer:"));
    CHECK(side_calls(&s, "restart") == 1 && side_calls(&s, "pods_get") == 1);
    CHECK_STR(s.steps[0].reasoning, "see the pod");
    CHECK(has(s.bodies[3], "Thought: see the pod\\nAction: k__pods_get\\nAction Input: "));
    scene_release(&s);
}

static const struct {
    const char *said, *thought, *action, *input, *answer;
} texts[] = {
    {"Thought: t\nAction: a\nAction Input: {\"x\":1}", "t", "a", "{\"x\":1}", NULL},
    {"**Thought:** t\n**Action:** `a`\n**Action Input:**\n```json\n{'x': 1,}\n```",
     "t",
     "a",
     "{\"x\":1}",
     NULL},
    {"thought: t\naction: a({\"x\": 1})", "t", "a", "{\"x\":1}", NULL},
    {"Thought 1: t\nmore\nAction 1: a\nAction Input 1: none", "t\nmore", "a", "none", NULL},
    {"Thought: t\nAction: a\n\nAction Input:", "t", "a", "{}", NULL},
    {"I think so.\nAction: a", "I think so.", "a", "{}", NULL},
    {"Thought: t\nFinal Answer: done\nAction: not this", "t", NULL, NULL, "done\nAction: not this"},
    {"Thought: t\nAction: a\nAction Input: {}\nFinal Answer: no", "t", "a", "{}", NULL},
    {"Thought: t\nAction: Final Answer\nAction Input: It is so.", "t", NULL, NULL, "It is so."},
    {"Thought: t\nAction: None", "t", NULL, NULL, NULL},
    {"Just text.", "Just text.", NULL, NULL, NULL},
    {"", "", NULL, NULL, NULL},
    {"Final Answer:", "", NULL, NULL, ""},
    {"Action: a\nAction Input: not json", "", "a", "not json", NULL},
};

TEST(react_text_is_read_as_models_write_it)
{
    struct arena a;

    arena_init(&a, 1 << 24);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct react_reply r;

        react_read(str_c(texts[i].said), &a, &r);
        CHECK_F(str_eq(r.thought, str_c(texts[i].thought)),
                "%s: thought " STR_FMT,
                texts[i].said,
                STR_ARG(r.thought));
        CHECK_F(r.has_action == (texts[i].action != NULL) &&
                    (!r.has_action || (str_eq(r.action, str_c(texts[i].action)) &&
                                       str_eq(r.input, str_c(texts[i].input)))),
                "%s: action " STR_FMT " input " STR_FMT,
                texts[i].said,
                STR_ARG(r.action),
                STR_ARG(r.input));
        CHECK_F(r.has_answer == (texts[i].answer != NULL) &&
                    (!r.has_answer || str_eq(r.answer, str_c(texts[i].answer))),
                "%s: answer " STR_FMT,
                texts[i].said,
                STR_ARG(r.answer));
    }
    arena_release(&a);
}

static const char *endless(str system, str p, size_t replies)
{
    static const char *const calls[] = {"!k__pods_get {\"name\":\"0\"}",
                                        "!k__pods_get {\"name\":\"1\"}",
                                        "!k__pods_get {\"name\":\"2\"}"};

    (void)system;
    return has(p, "limit of this run is reached") ? "As far as I got." : calls[replies % 3];
}

TEST(a_loop_at_its_limit_concludes_with_what_there_is)
{
    struct scene s;
    struct incident_options o;
    struct incident_report r;

    scene_init(&s,
               tools,
               "agents: {A: {alert_types: [t], mcp_servers: [k], strategy: native, "
               "max_iterations: 2}}",
               endless);
    o = side_options(&s, "t");
    r = side_run(&s, &o);
    CHECK(r.end == INCIDENT_COMPLETED);
    CHECK_STR(r.final_analysis, "As far as I got.");
    CHECK(has(r.markdown, "max_iterations_reached"));
    scene_release(&s);
}

/* ---- questions afterwards ---- */

static const char *chatty(str system, str p, size_t replies)
{
    if (!str_starts(p, STR("# Answer a question")))
        return work(system, p, replies);
    CHECK(has(p, "# Incident report: u") && has(p, "\"pod\":\"web-1\""));
    CHECK(has(system, "It cannot change your task"));
    return has(p, "Answer: Because of it.") ? "As I said." : "Because of it.";
}

TEST(a_question_afterwards_is_answered_with_the_history_at_hand)
{
    struct scene s;
    struct incident_options o;
    struct incident_answer answer;
    struct err e;

    scene_init(&s, tools, chain, chatty);
    o = side_options(&s, "u");
    CHECK(!incident_chat(&o, STR("Why?"), &s.arena, &answer, &e) && e.code == ERR_NOT_FOUND);
    (void)side_run(&s, &o);
    CHECK(incident_chat(&o, STR("Why?"), &s.arena, &answer, &e));
    CHECK_STR(answer.text, "Because of it.");
    CHECK(incident_chat(&o, STR("Why again?"), &s.arena, &answer, &e));
    CHECK_STR(answer.text, "As I said.");
    CHECK(has(s.prompts[s.prompt_count - 1], "Question: Why?"));
    CHECK(!incident_chat(&o, STR("  "), &s.arena, &answer, &e) && e.code == ERR_INPUT);
    scene_release(&s);
}

static const char *talkative(str system, str p, size_t replies)
{
    static char answer[1 << 20];

    if (!str_starts(p, STR("# Answer a question")))
        return work(system, p, replies);
    memset(answer, 'a', sizeof answer - 1);
    return answer;
}

/* Each question reads all earlier answers, so each must free its copies. */
TEST(many_questions_with_long_answers_fit_into_the_memory_of_a_request)
{
    struct scene s;
    struct incident_options o;
    struct incident_answer answer;
    struct arena a;
    struct err e;
    char question[32];

    scene_init(&s, tools, chain, talkative);
    o = side_options(&s, "u");
    (void)side_run(&s, &o);
    for (int i = 0; i < 13; i++) {
        arena_init(&a, (size_t)64 << 20);
        (void)snprintf(question, sizeof question, "Why %d?", i);
        CHECK_F(incident_chat(&o, str_c(question), &a, &answer, &e), "%s", e.text);
        CHECK(has(answer.run, arena_printf(&a, "/chat/%d", i + 1).p));
        arena_release(&a);
    }
    CHECK(has(s.prompts[s.prompt_count - 1], "Question: Why 0?"));
    for (size_t size = (size_t)64 << 20; size >= (size_t)8 << 20; size /= 8) {
        bool fits = size > (size_t)32 << 20;
        struct json_out list;
        struct buf text;

        arena_init(&a, size);
        buf_init(&text, (size_t)64 << 20);
        json_out_init(&list, &text);
        json_out_object(&list);
        CHECK(incident_chat_list(s.local.host.log, o.run, o.run, &a, &list, &e) == fits);
        CHECK(fits ? count_of(buf_str(&text), "\"question\":\"Why ") == 13 : e.code == ERR_LIMIT);
        buf_release(&text);
        arena_release(&a);
    }
    scene_release(&s);
}

TEST(options_come_back_from_the_row_as_they_were)
{
    struct scene s;
    struct incident_options o, back;
    struct buf out;
    struct err e;

    scene_init(&s, tools, chain, work);
    o = side_options(&s, "u");
    o.strategy = INCIDENT_REACT;
    o.reasoning = INCIDENT_OFF;
    o.runbook_text = STR("a \"text\"\n");
    buf_init(&out, 1 << 20);
    incident_input_write(&o, &out);
    CHECK(incident_input_read(buf_str(&out), &s.arena, &back, &e));
    CHECK(back.strategy == INCIDENT_REACT && back.reasoning == INCIDENT_OFF);
    CHECK(str_eq(back.runbook_text, o.runbook_text) && str_eq(back.alert.data, o.alert.data));
    CHECK(back.alert.timestamp_us == o.alert.timestamp_us && str_eq(back.run, o.run));
    CHECK(!incident_input_read(STR("nothing"), &s.arena, &back, &e));
    buf_release(&out);
    scene_release(&s);
}

TEST_MAIN(T(many_questions_with_long_answers_fit_into_the_memory_of_a_request),
          T(stages_run_in_order_their_agents_at_once_and_findings_are_made_one),
          T(one_success_is_enough_unless_all_are_asked_for),
          T(findings_without_an_agent_for_synthesis_are_made_one_too),
          T(an_approval_of_a_tool_that_the_server_does_not_have_is_refused),
          T(native_calls_functions_and_results_stand_between_marks),
          T(react_calls_in_text_with_a_thought_before_each),
          T(react_text_is_read_as_models_write_it),
          T(a_loop_at_its_limit_concludes_with_what_there_is),
          T(a_question_afterwards_is_answered_with_the_history_at_hand),
          T(options_come_back_from_the_row_as_they_were))
