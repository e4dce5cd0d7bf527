/* policy_react_test.c - the model's controller: proposals are checked, and failures are reported.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/verify.h"

#include "agent_help.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const char policy[] =
    "---\ntitle: Lumbar MRI\nversion: 2026-01\n---\n"
    "# Coverage\n\n<!-- page 1 -->\n"
    "## Age\n\nThe patient must be 18 years of age or older.\n\n<!-- page 2 -->\n"
    "## Conservative treatment\n\nAt least six weeks of conservative treatment are required, "
    "unless a red flag is present.\n\n<!-- page 3 -->\n"
    "## Diagnosis codes\n\nThe diagnosis code must be one of M54.5, M51.26, M48.06.\n";

static const char bundle[] =
    "{\"case_id\":\"c1\",\"policy_id\":\"lumbar\",\"fields\":["
    "{\"field_name\":\"Patient Age\",\"value\":45,\"confidence\":0.95,\"doc_id\":\"note-1\","
    "\"page\":1,\"bbox\":[0,0,1,1]},"
    "{\"field_name\":\"conservative_treatment_weeks\",\"value\":7,\"confidence\":0.5,"
    "\"doc_id\":\"note-2\",\"page\":3,\"bbox\":[0,0,1,1]}],"
    "\"metadata\":{\"criteria\":[\"age\"]}}";

#define SEARCH "!pi_search {\"query\":\"age of the patient\",\"top_k\":1}"
#define FACT "!facts_get {\"field_name\":\"patient-age\"}"
#define FINISH(status, confidence, section, pages)                                                 \
    "!finish {\"status\":\"" status                                                                \
    "\",\"rationale\":\"45 is at least 18\",\"confidence\":" confidence                            \
    ",\"policy_section\":\"" section "\",\"policy_pages\":" pages "}"
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
static char dir[64];

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
    (void)snprintf(dir, sizeof dir, "%s/policy_react_test.XXXXXX", test_tmp());
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    char command[128];

    (void)state;
    policy_doc_free(w.doc);
    arena_release(&w.arena);
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

static struct policy_result *verify(struct script *s)
{
    w.o.react.ask = (struct agent_ask){script_ask, s};
    if (!policy_verify(&w.o, &w.arena, &w.v, &w.e))
        fail_msg("%s", w.e.text);
    CHECK(w.v.n == 1);
    return &w.v.results[0];
}

static bool traced(const struct policy_result *r, const char *what)
{
    for (size_t i = 0; i < r->trace_count; i++)
        if (has(r->trace[i].observation, what) || has(r->trace[i].action, what))
            return true;
    return false;
}

TEST(a_run_that_searches_reads_and_proposes_is_met_with_citation_and_evidence)
{
    struct script s = {.turns = {SEARCH, FACT, FINISH_AT("Age", "[1]", "note-1", "1")}};
    struct policy_result *r = verify(&s);

    CHECK_F(r->status == POLICY_MET, STR_FMT, STR_ARG(r->reason_code));
    CHECK_STR(r->citation.section, "Coverage > Age");
    CHECK_STR(r->citation.doc, "lumbar");
    CHECK_STR(r->citation.version, "2026-01");
    CHECK(r->citation.page_count == 1 && r->citation.pages[0] == 1);
    CHECK(r->has_evidence && r->evidence.page == 1);
    CHECK_STR(r->evidence.doc_id, "note-1");
    CHECK_STR(r->evidence.text_excerpt, "Patient Age: 45");
    CHECK(r->trajectory_count == 2 && r->trace_count == 3);
    CHECK_STR(r->trajectory[0], "Coverage");
    CHECK_STR(r->reason_code, "");
    CHECK_STR(r->retrieval_method, "bm25+reranker");
    CHECK(has(r->trace[0].action, "pi_search(query='age of the patient', top_k=1)"));
}

TEST(the_confidence_is_computed_here_and_the_models_own_number_can_only_lower_it)
{
    struct script sure = {.turns = {SEARCH, FACT, FINISH("met", "1.0", "Age", "[1]")}},
                  shy = {.turns = {SEARCH, FACT, FINISH("met", "0.7", "Age", "[1]")}},
                  unsure = {.turns = {SEARCH, FACT, FINISH("met", "0.5", "Age", "[1]")}};
    double first = verify(&sure)->confidence;
    struct policy_result *r = &w.v.results[0];

    CHECK(r->c_final == 0.95 && first < 0.95);
    CHECK(r->c_joint == policy_round(r->c_tree * r->c_span * r->c_final));
    CHECK(r->c_span < 1 && r->c_span >= 0.3);
    r = verify(&shy);
    CHECK(r->c_final == 0.7 && r->confidence < first);
    CHECK(r->c_joint == policy_round(r->c_tree * r->c_span * r->c_final));
    r = verify(&unsure);
    CHECK(r->status == POLICY_UNCERTAIN);
    CHECK_STR(r->reason_code, "low_confidence");
}

TEST(defect_2_a_section_that_is_not_in_the_policy_is_refused)
{
    struct script s = {.turns = {SEARCH,
                                 FACT,
                                 FINISH("met", "0.99", "Imaging history", "[1]"),
                                 "It is met.",
                                 "It is.",
                                 "Yes."}};
    struct policy_result *r = verify(&s);

    CHECK(r->status == POLICY_UNCERTAIN);
    CHECK_STR(r->reason_code, "citation_unknown_section");
    CHECK(traced(r, "citation_unknown_section: the policy has no section"));
    CHECK_STR(r->citation.section, "");
}

TEST(defect_2_a_section_or_page_that_was_not_retrieved_in_this_run_is_refused)
{
    static const char *const bad[] = {FINISH("met", "0.99", "Diagnosis codes", "[3]"),
                                      FINISH("met", "0.99", "Age", "[3]"),
                                      FINISH("met", "0.99", "Age", "[1,9]")};

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct script s = {.turns = {SEARCH, bad[i], bad[i], bad[i], bad[i], bad[i]}};
        struct policy_result *r = verify(&s);

        CHECK_F(str_eq(r->reason_code, STR("citation_not_retrieved")),
                "%zu: " STR_FMT,
                i,
                STR_ARG(r->reason_code));
        CHECK(r->status == POLICY_UNCERTAIN);
    }
    {
        struct script s = {.turns = {FINISH("met", "0.99", "Age", "[1]"), "met", "met", "met"}};

        CHECK_STR(verify(&s)->reason_code, "citation_not_retrieved");
    }
}

TEST(pages_that_are_not_given_are_those_of_the_section_that_were_shown)
{
    struct script s = {.turns = {SEARCH, FACT, FINISH("met", "0.9", "Coverage", "[]")}};
    struct policy_result *r = verify(&s);

    CHECK(r->status == POLICY_MET && r->citation.page_count == 1 && r->citation.pages[0] == 1);
}

TEST(defect_2_evidence_that_is_not_in_the_case_is_refused)
{
    static const char *const bad[] = {FINISH_AT("Age", "[1]", "note-9", "1"),
                                      FINISH_AT("Age", "[1]", "note-1", "7")};

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct script s = {.turns = {SEARCH, FACT, bad[i], "x", "y", "z"}};

        CHECK_STR(verify(&s)->reason_code, "evidence_unknown");
    }
}

TEST(a_refused_proposal_goes_back_to_the_model_which_can_correct_it)
{
    struct script s = {.turns = {SEARCH,
                                 FACT,
                                 FINISH("met", "0.9", "Ages", "[1]"),
                                 FINISH("met", "0.9", "Age", "[2]"),
                                 FINISH("met", "7", "Age", "[1]"),
                                 FINISH("met", "0.9", "Age", "[1]")}};
    struct policy_result *r = verify(&s);

    CHECK(r->status == POLICY_MET && r->trace_count == 6);
    CHECK(traced(r, "citation_unknown_section") && traced(r, "citation_not_retrieved") &&
          traced(r, "invalid_confidence"));
    CHECK_STR(r->reason_code, "");
}

TEST(defect_2_it_abstains_below_0_65_whatever_the_model_says)
{
    /* The confidence of the fact is 0.5. */
    struct script s = {.turns = {"!pi_search {\"query\":\"conservative treatment weeks\"}",
                                 "!facts_get {\"field_name\":\"conservative_treatment_weeks\"}",
                                 FINISH_AT("Conservative treatment", "[2]", "note-2", "3")}};
    struct policy_result *r = verify(&s);

    CHECK(r->status == POLICY_UNCERTAIN && r->confidence < POLICY_ABSTAIN);
    CHECK_STR(r->reason_code, "low_confidence");
    CHECK_STR(r->citation.section, "Coverage > Conservative treatment");
}

TEST(a_model_that_is_not_sure_is_uncertain_and_need_not_cite)
{
    struct script s = {.turns = {SEARCH, FINISH("uncertain", "0.4", "", "[]")}},
                  cited = {.turns = {SEARCH, FINISH("uncertain", "0.4", "Age", "[1]")}},
                  words = {.turns = {"I cannot tell.", "No.", "No."}};
    struct policy_result *r = verify(&s);

    CHECK(r->status == POLICY_UNCERTAIN);
    CHECK_STR(r->reason_code, "agent_uncertain");
    r = verify(&cited);
    CHECK_STR(r->reason_code, "agent_uncertain");
    CHECK_STR(r->citation.section, "Coverage > Age");
    r = verify(&words);
    CHECK_STR(r->reason_code, "agent_uncertain");
    CHECK_STR(r->rationale, "No.");
}

TEST(limits_end_as_max_iterations_reached)
{
    struct script s = {0};

    for (int i = 0; i < 11; i++)
        s.turns[i] = arena_printf(&w.arena, "!facts_get {\"field_name\":\"f%d\"}", i).p;
    CHECK_STR(verify(&s)->reason_code, "max_iterations_reached");
    CHECK(atomic_load(&s.asked) == POLICY_ITERATIONS_MAX);
}

TEST(defect_1_a_model_that_cannot_be_asked_is_an_error_result)
{
    struct script gone = {.turns = {SEARCH, "#500"}}, limited = {.turns = {"#429"}};
    struct policy_result *r = verify(&gone);

    CHECK(r->status == POLICY_UNCERTAIN && r->trace_count == 1);
    CHECK_STR(r->reason_code, "llm_error");
    CHECK_STR(verify(&limited)->reason_code, "rate_limit_exceeded");
}

TEST(defect_1_the_fallback_fires_on_error_results_and_says_so)
{
    struct script s = {.turns = {"#500"}};
    struct policy_result *r;
    struct json_out o;
    struct buf out;

    w.o.fallback = true;
    r = verify(&s);
    CHECK_STR(r->reason_code, "llm_fallback");
    CHECK(w.v.how[0].controller == POLICY_HEURISTIC && w.v.how[0].fell_back);
    buf_init(&out, 1 << 20);
    json_out_init(&o, &out);
    policy_envelope(&w.o, &w.v, &o);
    CHECK(has(buf_str(&out), "fallback to heuristic"));
    CHECK(has(buf_str(&out), "\"reason_code\":\"llm_fallback\""));
    buf_release(&out);
}

TEST(a_verdict_that_the_rules_contradict_is_uncertain_and_says_so)
{
    struct script s = {.turns = {SEARCH, FACT, FINISH("met", "0.9", "Coverage > Age", "[1]")}};
    struct policy_result *r;
    struct json_out o;
    struct buf out;

    w.c.fields[0].value.number = 16;
    w.c.fields[0].value.text = w.c.fields[0].raw = STR("16");
    r = verify(&s);
    CHECK_INT(r->status, POLICY_UNCERTAIN);
    CHECK_STR(r->reason_code, "readers_disagree");
    CHECK(r->disagree && r->by_model == POLICY_MET && r->by_rules == POLICY_MISSING);
    CHECK(r->confidence < POLICY_ABSTAIN);
    buf_init(&out, 1 << 20);
    json_out_init(&o, &out);
    policy_result_json(r, &o);
    CHECK(has(buf_str(&out), "\"readers\":{\"model\":{\"status\":\"met\""));
    CHECK(has(buf_str(&out), "\"rules\":{\"status\":\"missing\""));
    buf_release(&out);
}

TEST(defect_3_spans_tighten_reads_sentences_of_a_node_that_was_searched_for)
{
    struct script s = {
        .turns = {
            "!spans_tighten {\"node_id\":\"0002\",\"query\":\"older\"}",
            SEARCH,
            "!spans_tighten {\"node_id\":\"0002\",\"query\":\"\\\"18\\\" OR older-than NEAR( *\"}",
            FACT,
            FINISH("met", "0.9", "0002", "[]")}};
    struct policy_result *r = verify(&s);

    CHECK(has(r->trace[0].observation, "node_not_retrieved"));
    CHECK(has(r->trace[2].observation, "18 years of age or older"));
    CHECK(r->status == POLICY_MET && r->citation.page_count == 1);
}

TEST(defect_4_bad_arguments_go_back_to_the_model_and_do_not_become_empty)
{
    struct script s = {.turns = {"!pi_search {\"query\":",
                                 "!pi_search {}",
                                 "!facts_get {\"field_name\":\"age\",\"more\":1}",
                                 SEARCH,
                                 FACT,
                                 FINISH("met", "0.9", "Age", "[1]")}};
    struct policy_result *r = verify(&s);

    CHECK(has(r->trace[0].observation, "\"success\":false,\"error\":\"the arguments are not JSON"));
    CHECK(has(r->trace[1].observation, "query"));
    CHECK(has(r->trace[2].observation, "more"));
    CHECK(r->status == POLICY_MET);
}

TEST(defect_4_finish_beside_other_calls_waits_for_them)
{
    struct script s = {
        .turns = {FINISH("met", "0.9", "Age", "[1]") "\n"
                                                     "pi_search {\"query\":\"age\"}\n"
                                                     "facts_get {\"field_name\":"
                                                     "\"patient_age\"}"}};
    struct policy_result *r = verify(&s);

    CHECK(r->status == POLICY_MET && r->trace_count == 3);
}

struct slow_search {
    struct script script;
    _Atomic unsigned picks;
};

/* Replies to the tree search: JSON within text, then text without JSON, then an error. */
static bool ask_pick(void *ctx, const struct ask_request *q, const _Atomic bool *cancel,
                     struct arena *a, struct ask_reply *reply)
{
    struct slow_search *s = ctx;

    if (!has(q->body, "Tree:"))
        return script_ask(&s->script, q, cancel, a, reply);
    atomic_fetch_add(&s->picks, 1);
    *reply = (struct ask_reply){.id = STR("p"), .usage = chat_usage_none, .recorded = true};
    reply->reasoning = STR("");
    reply->text = STR("I think so:\n```json\n{\"thinking\": \"age {x}\", \"node_list\": [\"9999\", "
                      "\"0002\"]}\n```\n");
    if (s->picks == 2)
        reply->text = STR("sorry, no idea");
    if (s->picks == 3) {
        reply->error = (struct chat_error){.status = 500, .message = STR("down")};
        return false;
    }
    return true;
}

TEST(the_tree_is_searched_by_the_model_and_by_the_index_when_that_fails)
{
    struct slow_search s = {.script = {.turns = {"!pi_search {\"query\":\"age\"}",
                                                 "!pi_search {\"query\":\"age older\"}",
                                                 "!pi_search {\"query\":\"age patient\"}",
                                                 FACT,
                                                 FINISH("met", "0.9", "Age", "[1]")}}};
    struct policy_result *r;

    w.o.react.search = CONFIG_SEARCH_MODEL;
    w.o.react.ask = (struct agent_ask){ask_pick, &s};
    CHECK(policy_verify(&w.o, &w.arena, &w.v, &w.e));
    r = &w.v.results[0];
    CHECK(s.picks == 3 && r->status == POLICY_MET);
    CHECK(has(r->trace[0].observation, "\"pageindex-"));
    CHECK(has(r->trace[1].observation, "bm25-fallback"));
    CHECK(has(r->trace[2].observation, "bm25-fallback"));
    CHECK(w.v.model_ns > 0);
}

TEST(defect_5_equal_calls_are_answered_from_the_cache_and_the_trace_is_cut_once)
{
    struct slow_search s = {.script = {.turns = {"!pi_search {\"query\":\"age\"}",
                                                 "!pi_search { \"query\" : \"age\" }",
                                                 FACT,
                                                 FINISH("met", "0.9", "Age", "[1]")}}};
    struct json_out o;
    struct buf out;

    w.o.react.search = CONFIG_SEARCH_MODEL;
    w.o.react.ask = (struct agent_ask){ask_pick, &s};
    CHECK(policy_verify(&w.o, &w.arena, &w.v, &w.e));
    CHECK(s.picks == 1);
    CHECK(str_eq(w.v.results[0].trace[0].observation, w.v.results[0].trace[1].observation));
    CHECK(w.v.results[0].trace[0].observation.n > 200); /* not truncated at 200 bytes */
    buf_init(&out, 1 << 20);
    json_out_init(&o, &out);
    policy_result_json(&w.v.results[0], &o);
    CHECK(has(buf_str(&out), "text_preview"));
    buf_release(&out);
}

TEST(defect_6_there_is_nothing_that_two_evaluations_share)
{
    /* The prompt is an argument, so concurrent calls can have different ones. */
    struct script s = {.turns = {SEARCH, FACT, FINISH("met", "0.9", "Age", "[1]")}};
    struct prompt other = w.prompt;

    other.id = STR("policy@other");
    other.components = STR("{\"system_prompt\":\"Another one.\"}");
    w.o.react.prompt = &other;
    CHECK(verify(&s)->status == POLICY_MET);
    CHECK_STR(policy_prompt_id(&w.o), "policy@other");
    w.o.react.prompt = &w.prompt;
    CHECK(verify(&s)->status == POLICY_MET);
    CHECK(str_eq(policy_prompt_id(&w.o), w.prompt.id));
}

TEST(no_document_is_uncertain_with_its_code)
{
    struct script s = {.turns = {"never"}};

    w.o.react.doc = NULL;
    CHECK_STR(verify(&s)->reason_code, "missing_policy_document_id");
    CHECK(atomic_load(&s.asked) == 0);
}

TEST(a_run_can_be_replayed_from_its_log_alone)
{
    struct script s = {.turns = {SEARCH,
                                 "It is met.",
                                 FACT,
                                 FINISH("met", "0.9", "Nowhere", "[1]"),
                                 FINISH("met", "0.9", "Age", "[1]")}};
    struct policy_result *r;
    struct agent_result again;

    CHECK(agent_log_open(arena_printf(&w.arena, "sqlite:%s/r.db", dir), &w.o.react.log, &w.e));
    r = verify(&s);
    CHECK(r->status == POLICY_MET);
    if (!agent_replay(w.o.react.log, STR("run/0"), &w.arena, &again, &w.e))
        fail_msg("%s", w.e.text);
    CHECK(again.step_count == r->trace_count);
    for (size_t i = 0; i < r->trace_count; i++)
        CHECK(str_eq(again.steps[i].observation, r->trace[i].observation));
    agent_log_close(w.o.react.log);
}

/* ---- self consistency ---- */

struct voters {
    struct script *scripts;
    size_t n;
    _Atomic unsigned asked;
};

static bool ask_voter(void *ctx, const struct ask_request *q, const _Atomic bool *cancel,
                      struct arena *a, struct ask_reply *reply)
{
    struct voters *v = ctx;
    unsigned turn = atomic_fetch_add(&v->asked, 1) / 3;

    return script_ask(&v->scripts[turn % v->n], q, cancel, a, reply);
}

TEST(samples_that_disagree_are_uncertain_and_those_that_agree_are_not)
{
    struct script met = {.turns = {SEARCH, FACT, FINISH("met", "0.95", "Age", "[1]")}},
                  missing = {.turns = {SEARCH, FACT, FINISH("missing", "0.95", "Age", "[1]")}};
    struct script same[] = {met, met, met}, two[] = {met, missing, met},
                  three[] = {met,
                             missing,
                             {.turns = {SEARCH, FACT, FINISH("uncertain", "0.9", "Age", "[1]")}}};
    struct voters v = {.scripts = same, .n = 3};

    w.o.samples = 3;
    w.o.react.ask = (struct agent_ask){ask_voter, &v};
    CHECK(policy_verify(&w.o, &w.arena, &w.v, &w.e) && w.v.results[0].status == POLICY_MET);
    v = (struct voters){.scripts = two, .n = 3};
    CHECK(policy_verify(&w.o, &w.arena, &w.v, &w.e));
    CHECK(w.v.results[0].status == POLICY_UNCERTAIN);
    CHECK_STR(w.v.results[0].reason_code, "conformal_ambiguity");
    v = (struct voters){.scripts = three, .n = 3};
    CHECK(policy_verify(&w.o, &w.arena, &w.v, &w.e));
    CHECK_STR(w.v.results[0].reason_code, "conformal_ambiguity");
}

/* ---- killed and resumed ---- */

static unsigned kill_at;
static _Atomic unsigned *effects;

static void on_effect(void *ctx, const struct agent_effect *f)
{
    (void)ctx, (void)f;
    if (atomic_fetch_add(effects, 1) + 1 == kill_at)
        (void)kill(getpid(), SIGKILL);
}

static bool run_child(unsigned at)
{
    static struct script s = {.turns = {SEARCH,
                                        FACT,
                                        FINISH("met", "0.9", "Nowhere", "[1]"),
                                        FINISH("met", "0.9", "Age", "[1]")}};
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        kill_at = at;
        if (!agent_log_open(arena_printf(&w.arena, "sqlite:%s/r.db", dir), &w.o.react.log, &w.e))
            _exit(3);
        w.o.react.on_effect = on_effect;
        w.o.react.ask = (struct agent_ask){script_ask, &s};
        if (!policy_verify(&w.o, &w.arena, &w.v, &w.e) || w.v.results[0].status != POLICY_MET ||
            w.v.results[0].trace_count != 4)
            _exit(2);
        agent_log_close(w.o.react.log);
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK_F(WIFSIGNALED(status) || WEXITSTATUS(status) == 0, "exit %d", WEXITSTATUS(status));
    return WIFEXITED(status);
}

TEST(a_run_killed_at_any_effect_ends_with_the_same_verdict)
{
    char command[128];

    effects = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (unsigned at = 1;; at++) {
        bool whole;

        *effects = 0;
        (void)snprintf(command, sizeof command, "rm -f %s/r.db*", dir);
        CHECK(system(command) == 0);
        whole = run_child(at);
        if (!whole)
            CHECK(run_child(0));
        CHECK(at < 40);
        if (whole)
            break;
    }
    CHECK_INT(*effects, 2 * (4 + 4) + 1); /* and the run's input */
    munmap(effects, 4096);
}

#define S(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        S(a_run_that_searches_reads_and_proposes_is_met_with_citation_and_evidence),
        S(the_confidence_is_computed_here_and_the_models_own_number_can_only_lower_it),
        S(defect_2_a_section_that_is_not_in_the_policy_is_refused),
        S(a_verdict_that_the_rules_contradict_is_uncertain_and_says_so),
        S(defect_2_a_section_or_page_that_was_not_retrieved_in_this_run_is_refused),
        S(pages_that_are_not_given_are_those_of_the_section_that_were_shown),
        S(defect_2_evidence_that_is_not_in_the_case_is_refused),
        S(a_refused_proposal_goes_back_to_the_model_which_can_correct_it),
        S(defect_2_it_abstains_below_0_65_whatever_the_model_says),
        S(a_model_that_is_not_sure_is_uncertain_and_need_not_cite),
        S(limits_end_as_max_iterations_reached),
        S(defect_1_a_model_that_cannot_be_asked_is_an_error_result),
        S(defect_1_the_fallback_fires_on_error_results_and_says_so),
        S(defect_3_spans_tighten_reads_sentences_of_a_node_that_was_searched_for),
        S(defect_4_bad_arguments_go_back_to_the_model_and_do_not_become_empty),
        S(defect_4_finish_beside_other_calls_waits_for_them),
        S(the_tree_is_searched_by_the_model_and_by_the_index_when_that_fails),
        S(defect_5_equal_calls_are_answered_from_the_cache_and_the_trace_is_cut_once),
        S(defect_6_there_is_nothing_that_two_evaluations_share),
        S(no_document_is_uncertain_with_its_code),
        S(a_run_can_be_replayed_from_its_log_alone),
        S(samples_that_disagree_are_uncertain_and_those_that_agree_are_not),
        S(a_run_killed_at_any_effect_ends_with_the_same_verdict),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
