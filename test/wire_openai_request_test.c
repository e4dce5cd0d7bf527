/* Chat Completions: client requests, and their form for each host.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json_edit.h"
#include "test.h"
#include "wire/internal.h"

#define SIZE_MAX_ ((size_t)8 << 20)
#define USER "{\"role\":\"user\",\"content\":\"hi\"}"
#define BODY(more) "{\"model\":\"m\",\"messages\":[" USER "]" more "}"

struct request_reader {
    struct arena a;
    struct json doc;
    struct chat_request r;
    struct err e;
    bool ok;
};

static void ask(struct request_reader *q, const char *body)
{
    arena_init(&q->a, SIZE_MAX_);
    json_init(&q->doc);
    CHECK_F(json_parse(&q->doc, str_c(body), &q->e), "%s: %s", body, q->e.text);
    q->ok = wire_openai.read(&q->doc, &q->a, &q->r, &q->e);
}

static void asked_release(struct request_reader *q)
{
    json_release(&q->doc);
    arena_release(&q->a);
}

/* ---- refused bodies and their errors ---- */

static const struct {
    const char *body, *why;
} bad[] = {
    {"[]", "the body: expected a JSON object"},
    {"{\"messages\":[" USER "]}", "model: expected a string, the name of a model"},
    {"{\"model\":7,\"messages\":[" USER "]}", "model: expected a string, the name of a model"},
    {"{\"model\":\"m\"}", "messages: expected a list of messages with at least one in it"},
    {"{\"model\":\"m\",\"messages\":[]}",
     "messages: expected a list of messages with at least one in it"},
    {BODY(",\"n\":0"), "n: expected an integer from 1 to 128"},
    {BODY(",\"n\":1.5"), "n: expected an integer from 1 to 128"},
    {BODY(",\"stream\":\"yes\""), "stream: expected true or false"},
    {BODY(",\"stop\":[\"a\",1]"), "stop[1]: expected a string"},
    {BODY(",\"stop\":5"), "stop: expected a string or a list of strings"},
    {BODY(",\"tools\":{}"), "tools: expected a list"},
};

TEST(what_is_wrong_is_said_with_its_place)
{
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct request_reader q;

        ask(&q, bad[i].body);
        CHECK_F(!q.ok, "%s", bad[i].body);
        CHECK_STR(str_c(q.e.text), bad[i].why);
        CHECK(q.e.code == ERR_INPUT);
        asked_release(&q);
    }
}

static const struct {
    const char *body, *why;
} unknown[] = {
    {BODY(",\"response_format\":{\"type\":\"json_schema\"}"),
     "response_format.json_schema: expected an object"},
    {BODY(",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"schema\":[]}}"),
     "response_format.json_schema.schema: expected a JSON Schema"},
    {BODY(",\"reasoning\":\"high\""), "reasoning: expected an object"},
    {BODY(",\"thinking\":\"on\""), "thinking: expected an object"},
    {"{\"model\":\"m\",\"messages\":[1]}", "messages[0]: expected an object"},
    {"{\"model\":\"m\",\"messages\":[{\"role\":\"root\",\"content\":\"\"}]}",
     "messages[0].role: expected system, developer, user, assistant, tool or function"},
    {"{\"model\":\"m\",\"messages\":[" USER ",{\"role\":\"user\",\"content\":7}]}",
     "messages[1].content: expected a string or a list of parts"},
    {"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":7}]}]}",
     "messages[0].content[0].type: expected text, image_url, input_audio, file or refusal"},
    {"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\"}]}]}",
     "messages[0].content[0].text: expected a string"},
    {"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\"}]}]}",
     "messages[0].content[0].image_url.url: expected the URL of an image"},
    {"{\"model\":\"m\",\"messages\":[{\"role\":\"tool\",\"content\":\"x\"}]}",
     "messages[0].tool_call_id: expected the id of the call this answers"},
    {"{\"model\":\"m\",\"messages\":[{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"c\","
     "\"function\":{}}]}]}",
     "messages[0].tool_calls[0].function.name: expected a string"},
    {BODY(",\"tools\":[{\"type\":\"function\"}]"), "tools[0].function: expected an object"},
    {BODY(",\"tools\":[{\"type\":\"function\",\"function\":{}}]"),
     "tools[0].function.name: expected a string, the tool's name"},
    {BODY(",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":[]}}]"),
     "tools[0].function.parameters: expected a JSON Schema"},
    {BODY(",\"temperature\":2.5"), "temperature: expected a number from 0 to 2"},
    {BODY(",\"temperature\":\"1\""), "temperature: expected a number from 0 to 2"},
    {BODY(",\"top_p\":1.01"), "top_p: expected a number from 0 to 1"},
    {BODY(",\"max_tokens\":0"), "max_tokens: expected an integer of at least 1"},
    {BODY(",\"max_completion_tokens\":-3"),
     "max_completion_tokens: expected an integer of at least 1"},
    {BODY(",\"tool_choice\":\"perhaps\""),
     "tool_choice: expected auto, none, required, or an object that names a function"},
    {BODY(",\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":\"f\"}}"),
     "tool_choice: it names a tool that is not in tools"},
    {BODY(",\"response_format\":{\"type\":\"xml\"}"),
     "response_format.type: expected text, json_object or json_schema"},
    {BODY(",\"reasoning_effort\":\"much\""),
     "reasoning_effort: expected none, minimal, low, medium, high, xhigh or max"},
    {BODY(",\"reasoning\":{\"effort\":\"much\"}"),
     "reasoning.effort: expected none, minimal, low, medium, high, xhigh or max"},
    {BODY(",\"thinking\":{\"type\":\"some\"}"),
     "thinking.type: expected enabled, disabled or adaptive"},
    {BODY(",\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":\"x\"}"),
     "thinking.budget_tokens: expected a number of tokens"},
};

TEST(a_value_that_is_not_known_is_left_to_its_own_providers)
{
    for (size_t i = 0; i < COUNT_OF(unknown); i++) {
        struct request_reader q;

        ask(&q, unknown[i].body);
        CHECK_F(
            q.ok && str_starts(str_c(unknown[i].why), q.r.unknown_param), "%s", unknown[i].body);
        CHECK(q.r.unknown_why.n && str_ends(str_c(unknown[i].why), q.r.unknown_why));
        asked_release(&q);
    }
}

/* ---- reasoning effort and budgets ---- */

static const struct {
    const char *more;
    enum chat_level level;
    int64_t budget;
    bool no_thoughts;
} levels[] = {
    {"", CHAT_LEVEL_NOT_GIVEN, -1, false},
    {",\"reasoning_effort\":\"XHigh\"", CHAT_LEVEL_XHIGH, -1, false},
    {",\"reasoning_effort\":null", CHAT_LEVEL_NOT_GIVEN, -1, false},
    {",\"reasoning_effort\":\"default\"", CHAT_LEVEL_ON, -1, false},
    {",\"reasoning\":{\"effort\":\"low\",\"exclude\":true}", CHAT_LEVEL_LOW, -1, true},
    {",\"reasoning\":{\"max_tokens\":900}", CHAT_LEVEL_NOT_GIVEN, 900, false},
    {",\"reasoning\":{\"enabled\":false}", CHAT_LEVEL_NONE, -1, false},
    {",\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":2000}", CHAT_LEVEL_ON, 2000, false},
    {",\"thinking\":{\"type\":\"disabled\"}", CHAT_LEVEL_NONE, -1, false},
    {",\"think\":true", CHAT_LEVEL_ON, -1, false},
    {",\"think\":\"high\"", CHAT_LEVEL_HIGH, -1, false},
    {",\"enable_thinking\":false", CHAT_LEVEL_NONE, -1, false},
    {",\"chat_template_kwargs\":{\"enable_thinking\":false}", CHAT_LEVEL_NONE, -1, false},
    {",\"thinking_token_budget\":64", CHAT_LEVEL_NOT_GIVEN, 64, false},
    {",\"include_reasoning\":false", CHAT_LEVEL_NOT_GIVEN, -1, true},
};

TEST(thinking_is_asked_for_in_many_ways)
{
    for (size_t i = 0; i < COUNT_OF(levels); i++) {
        char body[512];
        struct request_reader q;

        snprintf(body, sizeof body, BODY("%s"), levels[i].more);
        ask(&q, body);
        CHECK_F(q.ok, "%s: %s", body, q.e.text);
        CHECK_F(q.r.level == levels[i].level, "%s", body);
        CHECK_INT(q.r.budget_tokens, levels[i].budget);
        CHECK_INT(q.r.no_thoughts, levels[i].no_thoughts);
        asked_release(&q);
    }
}

/* ---- read and written again ---- */

static const struct {
    const char *in, *out;
} written[] = {
    {BODY(""), "{\"model\":\"m\",\"messages\":[" USER "]}"},
    {"{\"model\":\"m\",\"messages\":[{\"role\":\"developer\",\"content\":[{\"type\":\"text\","
     "\"text\":\"a\"},{\"type\":\"text\",\"text\":\"b\"}]}," USER "],\"temperature\":0.70,"
     "\"max_tokens\":5,\"stop\":\"x\",\"stream\":true,\"stream_options\":{\"include_usage\":true},"
     "\"reasoning_effort\":\"low\",\"seed\":3,\"user\":\"u\"}",
     "{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"a\\n\\nb\"}," USER
     "],\"max_completion_tokens\":5,\"temperature\":0.70,\"seed\":3,\"stop\":[\"x\"],"
     "\"reasoning_effort\":\"low\",\"user\":\"u\",\"stream\":true,\"stream_options\":{"
     "\"include_usage\":true}}"},
    {"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":"
     "\"see\"},{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,QUJD\"}},{"
     "\"type\":\"image_url\",\"image_url\":{\"url\":\"http://x/y\"}},{\"type\":\"input_audio\","
     "\"input_audio\":{\"data\":\"QQ==\",\"format\":\"mp3\"}},{\"type\":\"file\",\"file\":{"
     "\"filename\":\"a.pdf\",\"file_data\":\"data:application/pdf;base64,QQ==\"}}]}]}",
     "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":"
     "\"see\"},{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,QUJD\"}},{"
     "\"type\":\"image_url\",\"image_url\":{\"url\":\"http://x/y\"}},{\"type\":\"input_audio\","
     "\"input_audio\":{\"data\":\"QQ==\",\"format\":\"mp3\"}},{\"type\":\"file\",\"file\":{"
     "\"filename\":\"a.pdf\",\"file_data\":\"data:application/pdf;base64,QQ==\"}}]}]}"},
    {"{\"model\":\"m\",\"messages\":[" USER ",{\"role\":\"assistant\",\"content\":null,"
     "\"reasoning\":\"r\",\"tool_calls\":[{\"id\":\"c\",\"type\":\"function\",\"function\":{"
     "\"name\":\"f\",\"arguments\":\"{\\\"a\\\":1}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"c\","
     "\"content\":\"ok\"}],\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\","
     "\"description\":\"d\",\"parameters\":{\"type\":\"object\"},\"strict\":true}}],"
     "\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":\"f\"}},"
     "\"parallel_tool_calls\":false,\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{"
     "\"name\":\"n\",\"schema\":{\"a\":1},\"strict\":true}}}",
     "{\"model\":\"m\",\"messages\":[" USER ",{\"role\":\"assistant\",\"content\":null,"
     "\"reasoning_content\":\"r\",\"tool_calls\":[{\"id\":\"c\",\"type\":\"function\",\"function\":"
     "{"
     "\"name\":\"f\",\"arguments\":\"{\\\"a\\\":1}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"c\","
     "\"content\":\"ok\"}],\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\","
     "\"description\":\"d\",\"parameters\":{\"type\":\"object\"},\"strict\":true}}],"
     "\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":\"f\"}},"
     "\"parallel_tool_calls\":false,\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{"
     "\"name\":\"n\",\"schema\":{\"a\":1},\"strict\":true}}}"},
    {"{\"model\":\"m\",\"messages\":[{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"a\","
     "\"function\":{\"name\":\"f\",\"arguments\":\"\"}},{\"id\":\"b\",\"function\":{\"name\":\"f\","
     "\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":[{\"type\":"
     "\"text\",\"text\":\"t\"},{\"type\":\"image_url\",\"image_url\":{\"url\":\"http://i\"}}]},{"
     "\"role\":\"tool\",\"tool_call_id\":\"b\",\"content\":\"u\"}," USER "]}",
     "{\"model\":\"m\",\"messages\":[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{"
     "\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}},{"
     "\"id\":\"b\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},{"
     "\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":\"t\\n(see the image "
     "below)\"},{\"role\":"
     "\"tool\",\"tool_call_id\":\"b\",\"content\":\"u\"},{\"role\":\"user\",\"content\":[{\"type\":"
     "\"image_url\",\"image_url\":{\"url\":\"http://i\"}},{\"type\":\"text\",\"text\":\"hi\"}]}]}"},
};

TEST(a_request_is_written_as_it_was_meant)
{
    for (size_t i = 0; i < COUNT_OF(written); i++) {
        struct request_reader q;
        struct buf b;

        ask(&q, written[i].in);
        CHECK_F(q.ok, "%s", q.e.text);
        buf_init(&b, SIZE_MAX_);
        wire_openai.write(&q.r, &b);
        CHECK_STR(buf_str(&b), written[i].out);
        buf_release(&b);
        asked_release(&q);
    }
}

/* ---- plans ---- */

static void apply(const struct wire *w, const char *body, const struct wire_plan *plan,
                  const char *want)
{
    struct json_edits edits;
    struct arena a;
    struct json doc, again;
    struct err e;
    struct buf b;

    arena_init(&a, SIZE_MAX_);
    json_init(&doc);
    json_init(&again);
    buf_init(&b, SIZE_MAX_);
    CHECK_F(json_parse(&doc, str_c(body), &e), "%s", e.text);
    json_edits_init(&edits, &doc, &a);
    w->patch(&doc, plan, &edits);
    json_edits_apply(&edits, &b);
    CHECK_STR(buf_str(&b), want);
    CHECK(json_parse(&again, buf_str(&b), &e));
    buf_release(&b);
    json_release(&again);
    json_release(&doc);
    arena_release(&a);
}

/* Sets all str members of an otherwise empty plan. */
static struct wire_plan plan_of(struct wire_plan p)
{
    str *texts[] = {&p.model, &p.system_extra, &p.temperature, &p.top_p, &p.max_tokens, &p.merge};

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (!texts[i]->p)
            *texts[i] = STR("");
    return p;
}

#define PLAN(...) plan_of((struct wire_plan){.budget_tokens = -1, __VA_ARGS__})
#define LEVEL(how, much, tokens)                                                                   \
    plan_of((struct wire_plan){                                                                    \
        .think = how, .set_level = true, .level = much, .budget_tokens = tokens})

TEST(an_empty_plan_changes_nothing)
{
    struct wire_plan p = PLAN(.think = WIRE_THINK_DEFAULT);

    apply(&wire_openai,
          BODY(" , \"stream\" : true,\"x\":[ ]"),
          &p,
          BODY(" , \"stream\" : true,\"x\":[ ]"));
}

TEST(a_plan_sets_what_it_names)
{
    struct wire_plan p = PLAN(.model = STR("up"),
                              .set_stream = true,
                              .stream = true,
                              .want_usage = true,
                              .temperature = STR("0.5"),
                              .top_p = STR("0.9"),
                              .max_tokens = STR("99"));

    apply(&wire_openai,
          BODY(",\"temperature\":1,\"top_p\":null,\"max_tokens\":5"),
          &p,
          "{\"model\":\"up\",\"messages\":[" USER "],\"temperature\":1,\"top_p\":0.9,"
          "\"max_tokens\":99,\"stream\":true,\"stream_options\":{\"include_usage\":true}}");
    p = PLAN(.max_tokens = STR("99"));
    apply(&wire_openai, BODY(""), &p, BODY(",\"max_completion_tokens\":99"));
    p.think = WIRE_THINK_VLLM;
    apply(&wire_openai, BODY(""), &p, BODY(",\"max_tokens\":99"));
    apply(&wire_openai,
          BODY(",\"max_completion_tokens\":5"),
          &p,
          BODY(",\"max_completion_tokens\":99"));
    p = PLAN(.drop_tools = true);
    apply(
        &wire_openai, BODY(",\"tools\":[1]"), &p, BODY(",\"tools\":[1],\"tool_choice\":\"none\""));
    apply(&wire_openai, BODY(""), &p, BODY(""));
    p = PLAN(.merge = STR("{\"a\":{\"b\":1},\"stream\":true}"));
    apply(&wire_openai,
          BODY(",\"a\":{\"c\":2}"),
          &p,
          BODY(",\"a\":{\"c\":2,\"b\":1},\"stream\":true"));
}

static const struct {
    enum wire_think think;
    enum chat_level level;
    int64_t budget;
    const char *in, *out;
} ways[] = {
    {WIRE_THINK_DEFAULT, CHAT_LEVEL_HIGH, -1, "", ",\"reasoning_effort\":\"high\""},
    {WIRE_THINK_DEFAULT, CHAT_LEVEL_NONE, -1, "", ",\"reasoning_effort\":\"none\""},
    {WIRE_THINK_DEFAULT, CHAT_LEVEL_ON, -1, "", ",\"reasoning_effort\":\"medium\""},
    {WIRE_THINK_DEFAULT,
     CHAT_LEVEL_LOW,
     -1,
     ",\"thinking\":{\"type\":\"enabled\"}",
     ",\"reasoning_effort\":\"low\""},
    {WIRE_THINK_DEEPSEEK,
     CHAT_LEVEL_MINIMAL,
     -1,
     "",
     ",\"thinking\":{\"type\":\"enabled\"},\"reasoning_effort\":\"low\""},
    {WIRE_THINK_DEEPSEEK,
     CHAT_LEVEL_MEDIUM,
     -1,
     "",
     ",\"thinking\":{\"type\":\"enabled\"},\"reasoning_effort\":\"high\""},
    {WIRE_THINK_DEEPSEEK,
     CHAT_LEVEL_XHIGH,
     -1,
     "",
     ",\"thinking\":{\"type\":\"enabled\"},\"reasoning_effort\":\"max\""},
    {WIRE_THINK_DEEPSEEK,
     CHAT_LEVEL_NONE,
     -1,
     ",\"reasoning_effort\":\"high\"",
     ",\"thinking\":{\"type\":\"disabled\"}"},
    {WIRE_THINK_OPENROUTER, CHAT_LEVEL_HIGH, -1, "", ",\"reasoning\":{\"effort\":\"high\"}"},
    {WIRE_THINK_OPENROUTER,
     CHAT_LEVEL_HIGH,
     500,
     ",\"reasoning\":{\"effort\":\"low\",\"exclude\":true}",
     ",\"reasoning\":{\"exclude\":true,\"max_tokens\":500}"},
    {WIRE_THINK_OPENROUTER, CHAT_LEVEL_NONE, -1, "", ",\"reasoning\":{\"effort\":\"none\"}"},
    {WIRE_THINK_VLLM,
     CHAT_LEVEL_LOW,
     128,
     ",\"chat_template_kwargs\":{\"x\":1}",
     ",\"chat_template_kwargs\":{\"x\":1,\"enable_thinking\":true,\"thinking\":true},"
     "\"reasoning_effort\":\"low\",\"thinking_token_budget\":128"},
    {WIRE_THINK_VLLM,
     CHAT_LEVEL_NONE,
     -1,
     ",\"thinking_token_budget\":5",
     ",\"reasoning_effort\":\"none\",\"chat_template_kwargs\":{\"enable_thinking\":false,"
     "\"thinking\":false}"},
    {WIRE_THINK_SGLANG,
     CHAT_LEVEL_MEDIUM,
     64,
     "",
     ",\"reasoning_effort\":\"medium\",\"chat_template_kwargs\":{\"enable_thinking\":true,"
     "\"thinking\":true},\"custom_params\":{\"thinking_budget\":64}"},
    {WIRE_THINK_LLAMACPP,
     CHAT_LEVEL_HIGH,
     64,
     "",
     ",\"reasoning_effort\":\"high\",\"chat_template_kwargs\":{\"enable_thinking\":true},"
     "\"thinking_budget_tokens\":64,\"reasoning_budget_tokens\":64"},
    {WIRE_THINK_LLAMACPP,
     CHAT_LEVEL_NONE,
     64,
     "",
     ",\"reasoning_effort\":\"none\",\"chat_template_kwargs\":{\"enable_thinking\":false}"},
    {WIRE_THINK_NONE, CHAT_LEVEL_HIGH, 64, ",\"reasoning_effort\":\"low\"", ""},
};

TEST(each_host_is_told_to_think_in_its_way)
{
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        struct wire_plan p = LEVEL(ways[i].think, ways[i].level, ways[i].budget);
        char in[1024], out[1024];

        snprintf(in, sizeof in, BODY("%s"), ways[i].in);
        snprintf(out, sizeof out, BODY("%s"), ways[i].out);
        apply(&wire_openai, in, &p, out);
    }
}

TEST(a_host_that_refuses_to_be_told_is_told_nothing)
{
    struct wire_plan p = LEVEL(WIRE_THINK_VLLM, CHAT_LEVEL_HIGH, 9);

    p.drop_reasoning = true;
    p.merge = STR("{\"reasoning\":{}}");
    apply(&wire_openai,
          BODY(",\"reasoning_effort\":\"low\",\"reasoning\":{},\"thinking\":{},"
               "\"chat_template_kwargs\":{\"enable_thinking\":true,\"k\":1},"
               "\"thinking_token_budget\":1"),
          &p,
          BODY(",\"chat_template_kwargs\":{\"k\":1}"));
}

TEST(a_host_whose_reasoning_may_be_ended_is_told_so)
{
    struct wire_plan p = LEVEL(WIRE_THINK_LLAMACPP, CHAT_LEVEL_NOT_GIVEN, 9);

    p.control = true;
    apply(&wire_openai,
          BODY(",\"reasoning_control\":false"),
          &p,
          BODY(",\"reasoning_control\":true,\"thinking_budget_tokens\":9,"
               "\"reasoning_budget_tokens\":9"));
    p.drop_reasoning = true; /* the host refused the other parameters */
    apply(&wire_openai,
          BODY(",\"reasoning_budget_tokens\":9"),
          &p,
          BODY(",\"reasoning_control\":true"));
    p.control = false; /* the host refused this one too */
    apply(&wire_openai, BODY(",\"reasoning_control\":true"), &p, BODY(""));
}

TEST(more_system_prompt_goes_behind_what_is_there)
{
    struct wire_plan p = PLAN(.system_extra = STR("more\n"));

    apply(&wire_openai,
          BODY(""),
          &p,
          "{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"more\\n\"}," USER
          "]}");
    apply(&wire_openai,
          "{\"messages\":[" USER ",{\"role\":\"developer\",\"content\":\"a\\u0000\"}]}",
          &p,
          "{\"messages\":[" USER
          ",{\"role\":\"developer\",\"content\":\"a\\u0000\\n\\nmore\\n\"}]}");
    apply(&wire_openai,
          "{\"messages\":[{\"role\":\"system\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}]}",
          &p,
          "{\"messages\":[{\"role\":\"system\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},{"
          "\"type\":\"text\",\"text\":\"\\n\\nmore\\n\"}]}]}");
    apply(&wire_openai,
          "{\"messages\":[{\"role\":\"system\",\"content\":\"b more\\n c\"}]}",
          &p,
          "{\"messages\":[{\"role\":\"system\",\"content\":\"b more\\n c\"}]}");
}

TEST(tails_go_on_in_the_way_of_each_host)
{
    static const struct {
        enum wire_think think;
        bool closed;
        const char *out;
    } cases[] = {
        {WIRE_THINK_VLLM,
         true,
         "{\"messages\":[" USER
         ",{\"role\":\"assistant\",\"content\":\"<think>\\nr\\n</think>\\n\\n"
         "t\"}],\"continue_final_message\":true,\"add_generation_prompt\":false}"},
        {WIRE_THINK_SGLANG,
         false,
         "{\"messages\":[" USER ",{\"role\":\"assistant\",\"content\":\"<think>\\nrt\"}],"
         "\"continue_final_message\":true,\"add_generation_prompt\":false}"},
        {WIRE_THINK_LLAMACPP,
         true,
         "{\"messages\":[" USER
         ",{\"role\":\"assistant\",\"content\":\"<think>\\nr\\n</think>\\n\\n"
         "t\"}]}"},
        {WIRE_THINK_DEEPSEEK,
         true,
         "{\"messages\":[" USER ",{\"role\":\"assistant\",\"content\":\"t\",\"reasoning_content\":"
         "\"r\",\"prefix\":true}]}"},
    };
    struct wire_tail tail = {CHAT_USER, STR("say"), STR(""), false, false};
    struct wire_plan p = PLAN(.tails = &tail, .tail_count = 1);

    apply(&wire_openai,
          "{\"messages\":[" USER "]}",
          &p,
          "{\"messages\":[" USER ",{\"role\":\"user\",\"content\":\"say\"}]}");
    tail = (struct wire_tail){CHAT_ASSISTANT, STR("t"), STR("r"), true, false};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        p.think = cases[i].think;
        tail.closed = cases[i].closed;
        apply(&wire_openai, "{\"messages\":[" USER "]}", &p, cases[i].out);
    }
    tail.closed = false;
    apply(&wire_mistral,
          "{\"messages\":[" USER "]}",
          &p,
          "{\"messages\":[" USER ",{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\","
          "\"thinking\":[{\"type\":\"text\",\"text\":\"r\"}],\"closed\":false},{\"type\":\"text\","
          "\"text\":\"t\"}],\"prefix\":true}]}");
}

static size_t find_kept(void *ctx, str id, struct wire_kept *out, size_t n_max)
{
    (void)ctx;
    if (str_eq(id, STR("c1")) && n_max > 0) {
        out[0] = (struct wire_kept){STR("reasoning_content"), STR("\"\"")};
        return 1;
    }
    if (str_eq(id, STR("c2")) && n_max > 1) {
        out[0] = (struct wire_kept){STR("reasoning_details"), STR("[1]")};
        out[1] = (struct wire_kept){STR("call.extra_content"), STR("{\"s\":1}")};
        return 2;
    }
    if (str_eq(id, STR("c3")) && n_max > 0) {
        out[0] = (struct wire_kept){STR("thinking"), STR("[{\"type\":\"thinking\"}]")};
        return 1;
    }
    if (str_eq(id, STR("c4")) && n_max > 0) {
        out[0] = (struct wire_kept){STR("reasoning_content"), STR("\"why\"")};
        return 1;
    }
    return 0;
}

#define ASKED(id, more)                                                                            \
    "{\"messages\":[{\"role\":\"assistant\",\"content\":\"a\",\"tool_calls\":[{\"id\":\"" id       \
    "\"" more "}]"

TEST(defect_3_the_vault_puts_back_what_the_client_dropped)
{
    const struct wire_vault vault = {find_kept, NULL};
    struct wire_plan p = PLAN(.vault = &vault);

    apply(
        &wire_openai, ASKED("c1", "") "}]}", &p, ASKED("c1", "") ",\"reasoning_content\":\"\"}]}");
    apply(&wire_openai,
          ASKED("c1", "") ",\"reasoning\":\"kept\"}]}",
          &p,
          ASKED("c1", "") ",\"reasoning\":\"kept\"}]}");
    apply(&wire_openai,
          ASKED("c2", "") ",\"reasoning_details\":[0]}]}",
          &p,
          ASKED("c2", ",\"extra_content\":{\"s\":1}") ",\"reasoning_details\":[1]}]}");
    apply(&wire_openai, ASKED("c9", "") "}]}", &p, ASKED("c9", "") "}]}");
    apply(&wire_openai,
          ASKED("c4", "") ",\"reasoning_content\":\"\"}]}",
          &p,
          ASKED("c4", "") ",\"reasoning_content\":\"why\"}]}");
    apply(&wire_openai,
          ASKED("c4", "") ",\"reasoning_content\":null}]}",
          &p,
          ASKED("c4", "") ",\"reasoning_content\":\"why\"}]}");
    apply(&wire_openai,
          ASKED("c4", "") ",\"reasoning_content\":\"w\"}]}",
          &p,
          ASKED("c4", "") ",\"reasoning_content\":\"w\"}]}");
    apply(&wire_mistral,
          ASKED("c3", "") "}]}",
          &p,
          "{\"messages\":[{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\"},{\"type\":"
          "\"text\",\"text\":\"a\"}],\"tool_calls\":[{\"id\":\"c3\"}]}]}");
    p.foreign_kept = true;
    apply(&wire_openai, ASKED("c2", "") ",\"reasoning_details\":[0]}]}", &p, ASKED("c2", "") "}]}");
}

TEST_MAIN(T(what_is_wrong_is_said_with_its_place),
          T(a_value_that_is_not_known_is_left_to_its_own_providers),
          T(thinking_is_asked_for_in_many_ways), T(a_request_is_written_as_it_was_meant),
          T(an_empty_plan_changes_nothing), T(a_plan_sets_what_it_names),
          T(each_host_is_told_to_think_in_its_way),
          T(a_host_that_refuses_to_be_told_is_told_nothing),
          T(a_host_whose_reasoning_may_be_ended_is_told_so),
          T(more_system_prompt_goes_behind_what_is_there), T(tails_go_on_in_the_way_of_each_host),
          T(defect_3_the_vault_puts_back_what_the_client_dropped))
