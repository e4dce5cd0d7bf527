/* policy_limits_test.c - the model's controller: limits, reasoning, and unreadable calls.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/verify.h"

#include "agent_help.h"

#include <unistd.h>

static const char policy[] =
    "---\ntitle: Lumbar MRI\nversion: 2026-01\n---\n"
    "# Coverage\n\n<!-- page 1 -->\n"
    "## Age\n\nThe patient must be 18 years of age or older.\n\n<!-- page 2 -->\n"
    "## Treatment\n\nAt least six weeks of treatment are required.\n";

static const char bundle[] =
    "{\"case_id\":\"c1\",\"policy_id\":\"lumbar\",\"fields\":[{\"field_name\":\"Patient "
    "Age\",\"value\":45,\"confidence\":0.95,\"doc_id\":\"note-1\",\"page\":1}],\"metadata\":{"
    "\"criteria\":[\"age\"]}}";

#define SEARCH "!pi_search {\"query\":\"age of the patient\",\"top_k\":1}"
#define FACT "!facts_get {\"field_name\":\"patient-age\"}"
#define FINISH_AT(section, pages, doc, page)                                                       \
    "!finish {\"status\":\"met\",\"rationale\":\"45 is at least 18\",\"confidence\":0.9,"          \
    "\"policy_section\":\"" section "\",\"policy_pages\":" pages ",\"evidence_doc_id\":\"" doc     \
    "\",\"evidence_page\":" page "}"

struct world {
    struct arena arena;
    struct policy_doc *doc;
    struct policy_case c;
    struct prompt prompt;
    struct policy_verify_options o;
    struct policy_verdict v;
    struct err e;
};

static struct world w;

static int setup(void **state)
{
    (void)state;
    memset(&w, 0, sizeof w);
    arena_init(&w.arena, (size_t)1 << 30);
    if (!policy_doc_parse(STR("lumbar"), STR("lumbar.md"), str_c(policy), &w.doc, &w.e) ||
        !policy_case_read(str_c(bundle), &w.arena, &w.c, &w.e))
        fail_msg("%s", w.e.text);
    prompt_built_in(&policy_built_in, &w.arena, &w.prompt);
    w.o = (struct policy_verify_options){.controller = POLICY_REACT,
                                         .mode = POLICY_MODE_LLM,
                                         .react = {.doc = w.doc,
                                                   .c = &w.c,
                                                   .prompt = &w.prompt,
                                                   .model = STR("m"),
                                                   .search = CONFIG_SEARCH_BM25,
                                                   .run = STR("run"),
                                                   .session = STR("run"),
                                                   .input = STR("{}"),
                                                   .clock = &clock_real}};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    policy_doc_free(w.doc);
    arena_release(&w.arena);
    return 0;
}

static struct policy_result *verify(struct script *s)
{
    w.o.react.ask = (struct agent_ask){script_ask, s};
    if (!policy_verify(&w.o, &w.arena, &w.v, &w.e))
        fail_msg("%s", w.e.text);
    CHECK(w.v.n == 1);
    return &w.v.results[0];
}

/* A model whose calls cost tokens and time, with reasoning before each. */
struct costly {
    struct script script;
    int64_t tokens;
    unsigned ms;
    bool mute; /* never replies, so the call's deadline expires */
    _Atomic unsigned picks;
};

static bool ask_costly(void *ctx, const struct ask_request *q, const _Atomic bool *cancel,
                       struct arena *a, struct ask_reply *reply)
{
    struct costly *c = ctx;

    uint64_t end = clock_deadline_ns(&clock_real, q->timeout_ms > 0 ? q->timeout_ms : 1 << 30);

    for (unsigned i = 0; c->mute || i < c->ms; i++) {
        if ((cancel && *cancel) || clock_mono_ns(&clock_real) >= end)
            break;
        usleep(1000);
    }
    if ((cancel && *cancel) || clock_mono_ns(&clock_real) >= end) {
        *reply = (struct ask_reply){.usage = chat_usage_none};
        reply->error = (struct chat_error){.status = 499, .message = STR("cancelled")};
        return false;
    }
    if (has(q->body, "Tree:")) {
        atomic_fetch_add(&c->picks, 1);
        *reply = (struct ask_reply){
            .id = STR("p"), .usage = chat_usage_none, .recorded = true, .reasoning = STR("")};
        reply->text = STR("{\"node_list\": [\"0002\"]}");
    } else if (!script_ask(&c->script, q, cancel, a, reply)) {
        return false;
    }
    reply->reasoning = STR("I should look at the age rule first.");
    reply->usage = chat_usage_none;
    reply->usage.input = c->tokens;
    reply->usage.output = 1;
    return true;
}

TEST(the_limits_of_an_evaluation_hold)
{
    static const struct {
        int64_t tokens, tokens_max;
        unsigned ms, time_max_ms;
        bool mute;
        enum config_search search;
        const char *reason; /* "": it reaches a verdict */
        unsigned asked_max;
    } cases[] = {
        {100, 100000, 0, 0, false, CONFIG_SEARCH_BM25, "", 3},
        {500, 1000, 0, 0, false, CONFIG_SEARCH_BM25, "token_budget_exceeded", 2},
        /* Tokens of the search count too. */
        {500, 1400, 0, 0, false, CONFIG_SEARCH_MODEL, "token_budget_exceeded", 2},
        {1, 100000, 120, 100, false, CONFIG_SEARCH_BM25, "time_limit_exceeded", 1},
        {1, 100000, 0, 300, true, CONFIG_SEARCH_BM25, "time_limit_exceeded", 0},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct costly c = {
            .script = {.turns = {SEARCH, FACT, FINISH_AT("Age", "[1]", "note-1", "1")}},
            .tokens = cases[i].tokens,
            .ms = cases[i].ms,
            .mute = cases[i].mute};
        struct policy_result *r;

        w.o.react.search = cases[i].search;
        w.o.react.tokens_max = cases[i].tokens_max;
        w.o.react.time_max_ms = cases[i].time_max_ms;
        w.o.react.ask = (struct agent_ask){ask_costly, &c};
        CHECK_F(policy_verify(&w.o, &w.arena, &w.v, &w.e), "%s", w.e.text);
        r = &w.v.results[0];
        CHECK_F(str_eq(r->reason_code, str_c(cases[i].reason)),
                "case %zu: " STR_FMT ", " STR_FMT,
                i,
                STR_ARG(r->reason_code),
                STR_ARG(r->rationale));
        CHECK((r->status == POLICY_MET) == !cases[i].reason[0]);
        CHECK_F(c.script.asked <= cases[i].asked_max, "case %zu: %u", i, c.script.asked);
    }
}

/* Each reply's reasoning takes a quarter of the arena; half of it is kept for the next turn. */
static bool ask_thoughtful(void *ctx, const struct ask_request *q, const _Atomic bool *cancel,
                           struct arena *a, struct ask_reply *reply)
{
    size_t size = (size_t)4 << 20;
    char *thought;

    if (!script_ask(ctx, q, cancel, a, reply))
        return false;
    thought = arena_alloc(a, size);
    memset(thought, 'x', size);
    reply->reasoning = (str){thought, size};
    return true;
}

TEST(a_run_out_of_memory_is_an_answer_with_that_reason)
{
    struct script s = {.turns = {SEARCH, FACT, SEARCH, FACT, SEARCH}};
    struct policy_react_options o = w.o.react;
    struct policy_react_info info;
    struct policy_result r;
    struct arena a;

    arena_init(&a, (size_t)16 << 20);
    o.criterion = STR("age");
    o.ask = (struct agent_ask){ask_thoughtful, &s};
    CHECK_F(policy_react(&o, &a, &r, &info, &w.e), "%s", w.e.text);
    CHECK_STR(r.reason_code, "memory_limit_exceeded");
    CHECK_INT(r.status, POLICY_UNCERTAIN);
    CHECK(!info.llm_failed);
    CHECK_F(has(r.rationale, "of the run have more than"), STR_FMT, STR_ARG(r.rationale));
    CHECK(r.trace_count > 0);
    arena_release(&a);
}

TEST(the_models_thought_is_in_the_trace)
{
    struct costly c = {.script = {.turns = {SEARCH, FACT, FINISH_AT("Age", "[1]", "note-1", "1")}}};
    struct policy_result *r;

    w.o.react.ask = (struct agent_ask){ask_costly, &c};
    CHECK(policy_verify(&w.o, &w.arena, &w.v, &w.e));
    r = &w.v.results[0];
    CHECK_INT(r->trace_count, 6);
    for (size_t i = 0; i < r->trace_count; i++)
        CHECK_INT(r->trace[i].step, i + 1);
    CHECK_STR(r->trace[0].action, "think");
    CHECK_STR(r->trace[0].observation, "I should look at the age rule first.");
    CHECK(has(r->trace[1].action, "pi_search"));
}

TEST(endless_bad_calls_fall_back_with_their_reason)
{
    static const struct {
        const char *turn;
        const char *reason;
    } cases[] = {
        {"!finish {\"status\": \"met\", \"rationale\": ", "invalid_output"},
        {"!finish {\"status\": \"perhaps\"}", "invalid_output"},
        {"!no_such_tool {}", "invalid_output"},
        {"{\"status\": \"met\", \"rationale\": ", "invalid_output"},
        {"I would rather not say.", "agent_uncertain"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (int fallback = 0; fallback < 2; fallback++) {
            bool falls = fallback && strcmp(cases[i].reason, "invalid_output") == 0;
            struct script s = {0};
            struct policy_result *r;

            for (size_t k = 0; k < SCRIPT_MAX; k++)
                s.turns[k] = cases[i].turn;
            w.o.fallback = fallback;
            r = verify(&s);
            CHECK_F(str_eq(r->reason_code, str_c(falls ? "llm_fallback" : cases[i].reason)),
                    "case %zu: " STR_FMT ": " STR_FMT,
                    i,
                    STR_ARG(r->reason_code),
                    STR_ARG(r->rationale));
            CHECK_INT(r->status, falls ? POLICY_MET : POLICY_UNCERTAIN);
            CHECK(!falls || has(r->rationale, "invalid_output"));
            CHECK(s.asked <= 10);
        }
}

/* The parts of the path are joined before the search for the section. */
TEST(a_cited_section_of_endless_parts_is_not_found)
{
    struct script s = {.turns = {SEARCH, FACT, NULL, FINISH_AT("Age", "[1]", "note-1", "1")}};
    struct buf turn;

    buf_init(&turn, (size_t)1 << 20);
    buf_add(&turn,
            STR("!finish {\"status\":\"met\",\"rationale\":\"so\",\"confidence\":0.9,"
                "\"policy_pages\":[1],\"policy_section\":\"Age"));
    for (int i = 0; i < 60000; i++)
        buf_add(&turn, STR("/a"));
    buf_add(&turn, STR("\"}"));
    buf_add_c(&turn, 0);
    s.turns[2] = turn.p;
    CHECK_INT(verify(&s)->status, POLICY_MET);
    CHECK_INT(s.asked, 4);
    buf_release(&turn);
}

/* The section is searched for the words of a fact's name. */
TEST(a_fact_whose_name_never_ends_is_cited_in_time)
{
    struct script s = {.turns = {SEARCH, FINISH_AT("Age", "[1]", "note-1", "1")}};
    struct policy_doc *doc;
    struct buf text, json;

    buf_init(&text, (size_t)1 << 20);
    buf_init(&json, (size_t)1 << 20);
    buf_add(&text, STR("# Coverage\n\n## Age\n\nThe age of the patient must be 18 or more.\n\n"));
    for (int i = 0; i < 20000; i++)
        buf_add(&text, STR("So it is.\n\n"));
    buf_add(&json,
            STR("{\"case_id\":\"c1\",\"policy_id\":\"p\",\"fields\":[{\"field_name\":\"age"));
    for (int i = 0; i < 200000; i++)
        buf_add(&json, STR("_zz"));
    buf_add(&json,
            STR("\",\"value\":45,\"confidence\":0.95,\"doc_id\":\"note-1\",\"page\":1}],"
                "\"metadata\":{\"criteria\":[\"age\"]}}"));
    CHECK(policy_doc_parse(STR("p"), STR("p.md"), buf_str(&text), &doc, &w.e));
    CHECK_F(policy_case_read(buf_str(&json), &w.arena, &w.c, &w.e), "%s", w.e.text);
    w.o.react.doc = doc;
    CHECK_STR(verify(&s)->evidence.doc_id, "note-1");
    policy_doc_free(doc);
    buf_release(&json);
    buf_release(&text);
}

#define S(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        S(the_limits_of_an_evaluation_hold),
        S(a_run_out_of_memory_is_an_answer_with_that_reason),
        S(the_models_thought_is_in_the_trace),
        S(endless_bad_calls_fall_back_with_their_reason),
        S(a_cited_section_of_endless_parts_is_not_found),
        S(a_fact_whose_name_never_ends_is_cited_in_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
