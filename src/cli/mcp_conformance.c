/* mcp_conformance.c - the server for the official suite's scenarios: `--conformance`.
 *
 * Tools with a fixed answer are rows. Tools that ask the client something are rows with the
 * question and the answer to its reply. The few other tools have functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/mcp.h"
#include "mcp/rpc.h"

#define PNG                                                                                        \
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJg" \
    "gg=="
#define WAV "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
#define IMAGE "{\"type\":\"image\",\"data\":\"" PNG "\",\"mimeType\":\"image/png\"}"
#define TEXT(words) "{\"type\":\"text\",\"text\":\"" words "\"}"
#define MESSAGE(content) "{\"role\":\"user\",\"content\":" content "}"

/* ---- fixed answers ---- */

static const struct {
    const char *tool, *parts[3];
} fixed[] = {
    {"test_simple_text", {TEXT("This is a simple text response for testing.")}},
    {"test_image_content", {IMAGE}},
    {"test_audio_content",
     {"{\"type\":\"audio\",\"data\":\"" WAV "\",\"mimeType\":\"audio/wav\"}"}},
    {"test_embedded_resource",
     {"{\"type\":\"resource\",\"resource\":{\"uri\":\"test://embedded-resource\",\"mimeType\":"
      "\"text/plain\",\"text\":\"This is an embedded resource content.\"}}"}},
    {"test_multiple_content_types",
     {TEXT("Multiple content types test:"),
      IMAGE,
      "{\"type\":\"resource\",\"resource\":{\"uri\":\"test://mixed-content-resource\",\"mimeType\":"
      "\"application/json\",\"text\":\"{\\\"test\\\":\\\"data\\\",\\\"value\\\":123}\"}}"}},
    {"test_missing_capability", {TEXT("Success")}},
    {"json_schema_2020_12_tool", {TEXT("The arguments are as the schema has them.")}},
    {"test_custom_header", {TEXT("The headers are as the arguments.")}},
};

static str tool_name(const struct mcp_ask *ask)
{
    return mcp_member(ask->doc, ask->params, STR("name"), ask->arena);
}

static void conformance_answer_fixed(void *ctx, const struct mcp_ask *ask,
                                     struct mcp_answer *answer)
{
    str name = tool_name(ask);

    (void)ctx;
    for (size_t i = 0; i < COUNT_OF(fixed); i++)
        if (str_eq(name, str_c(fixed[i].tool)))
            for (size_t k = 0; k < COUNT_OF(fixed[i].parts) && fixed[i].parts[k]; k++)
                mcp_answer_item(answer, str_c(fixed[i].parts[k]));
}

static void conformance_answer_log(void *ctx, const struct mcp_ask *ask, struct mcp_answer *answer)
{
    (void)ctx;
    (void)ask;
    mcp_answer_log(answer, MCP_LOG_INFO, STR("Tool execution started"));
    mcp_answer_log(answer, MCP_LOG_INFO, STR("Tool processing data"));
    mcp_answer_log(answer, MCP_LOG_INFO, STR("Tool execution completed"));
    mcp_answer_text(answer, STR("Tool with logging executed successfully"));
}

static void conformance_answer_progress(void *ctx, const struct mcp_ask *ask,
                                        struct mcp_answer *answer)
{
    (void)ctx;
    (void)ask;
    mcp_answer_progress(answer, 0, 100, STR("Completed step 0 of 100"));
    mcp_answer_progress(answer, 50, 100, STR("Completed step 50 of 100"));
    mcp_answer_progress(answer, 100, 100, STR("Completed step 100 of 100"));
    mcp_answer_text(answer, STR("Tool with progress executed successfully"));
}

static void mcp_conformance_answer_error(void *ctx, const struct mcp_ask *ask,
                                         struct mcp_answer *answer)
{
    (void)ctx;
    (void)ask;
    mcp_answer_fail(answer, "This tool intentionally returns an error for testing");
}

static void conformance_trigger_change(void *ctx, const struct mcp_ask *ask,
                                       struct mcp_answer *answer)
{
    bool tools = str_eq(tool_name(ask), STR("test_trigger_tool_change"));

    (void)ctx;
    mcp_server_changed(ask->server, tools ? MCP_TOOLS_CHANGED : MCP_PROMPTS_CHANGED);
    mcp_answer_text(answer, STR("Mutation triggered"));
}

/* ---- questions to the client ---- */

#define ELICIT "elicitation/create"
#define SAMPLE "sampling/createMessage"
#define FORM(message, properties, required)                                                        \
    "{\"message\":\"" message                                                                      \
    "\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{" properties                      \
    "},\"required\":[" required "]}}"
#define PROMPT(words, tokens) "{\"messages\":[" MESSAGE(TEXT(words)) "],\"maxTokens\":" tokens "}"
#define NAME_FORM FORM("What is your name?", "\"name\":{\"type\":\"string\"}", "\"name\"")
#define CONFIRM_FORM FORM("Please confirm", "\"ok\":{\"type\":\"boolean\"}", "\"ok\"")

/* A question that is asked until it is answered; `from` names the part of the reply that the tool's
 * answer quotes. */
static const struct question {
    const char *tool;
    struct {
        const char *key, *method, *params;
    } ask[3];
    const char *state; /* the state that the client must send back, or NULL */
    const char *say;   /* the text before the quoted reply */
    const char *from;  /* a member of the first reply's content, or NULL for the whole reply */
} questions[] = {
    {"test_input_required_result_elicitation",
     {{"user_name", ELICIT, NAME_FORM}},
     NULL,
     "Hello, ",
     "name"},
    {"test_input_required_result_sampling",
     {{"sample_request", SAMPLE, PROMPT("What is the capital of France?", "100")}},
     NULL,
     "Sampling result: ",
     "text"},
    {"test_input_required_result_list_roots",
     {{"roots_request", "roots/list", "{}"}},
     NULL,
     "Roots: ",
     NULL},
    {"test_input_required_result_request_state",
     {{"confirm", ELICIT, CONFIRM_FORM}},
     "request-state",
     "state-ok: ",
     NULL},
    {"test_input_required_result_tampered_state",
     {{"confirm", ELICIT, CONFIRM_FORM}},
     "tamper-test",
     "integrity-ok: ",
     NULL},
    {"test_input_required_result_multiple_inputs",
     {{"user_name", ELICIT, NAME_FORM},
      {"greeting", SAMPLE, PROMPT("Generate a greeting", "50")},
      {"client_roots", "roots/list", "{}"}},
     "multiple-inputs",
     "Name: ",
     "name"},
    {"test_sampling", {{"sample", SAMPLE, NULL}}, NULL, "LLM response: ", "text"},
    {"test_elicitation", {{"answer", ELICIT, NULL}}, NULL, "User response: ", NULL},
    {"test_elicitation_sep1034_defaults",
     {{"answer",
       ELICIT,
       FORM("Please review and update the form fields with defaults",
            "\"name\":{\"type\":\"string\",\"description\":\"User name\",\"default\":\"John Doe\"},"
            "\"age\":{\"type\":\"integer\",\"description\":\"User age\",\"default\":30},"
            "\"score\":{\"type\":\"number\",\"description\":\"User score\",\"default\":95.5},"
            "\"status\":{\"type\":\"string\",\"description\":\"User status\",\"enum\":[\"active\","
            "\"inactive\",\"pending\"],\"default\":\"active\"},"
            "\"verified\":{\"type\":\"boolean\",\"description\":\"Verification status\","
            "\"default\":true}",
            "")}},
     NULL,
     "Elicitation completed: ",
     NULL},
    {"test_elicitation_sep1330_enums",
     {{"answer",
       ELICIT,
       FORM("Please select options from the enum fields",
            "\"untitledSingle\":{\"type\":\"string\",\"enum\":[\"option1\",\"option2\","
            "\"option3\"]},"
            "\"titledSingle\":{\"type\":\"string\",\"oneOf\":[{\"const\":\"value1\",\"title\":"
            "\"First Option\"},{\"const\":\"value2\",\"title\":\"Second Option\"},{\"const\":"
            "\"value3\",\"title\":\"Third Option\"}]},"
            "\"legacyEnum\":{\"type\":\"string\",\"enum\":[\"opt1\",\"opt2\",\"opt3\"],"
            "\"enumNames\":[\"Option One\",\"Option Two\",\"Option Three\"]},"
            "\"untitledMulti\":{\"type\":\"array\",\"minItems\":1,\"maxItems\":3,\"items\":{"
            "\"type\":\"string\",\"enum\":[\"option1\",\"option2\",\"option3\"]}},"
            "\"titledMulti\":{\"type\":\"array\",\"minItems\":1,\"maxItems\":3,\"items\":{"
            "\"anyOf\":[{\"const\":\"value1\",\"title\":\"First Choice\"},{\"const\":\"value2\","
            "\"title\":\"Second Choice\"},{\"const\":\"value3\",\"title\":\"Third Choice\"}]}}",
            "")}},
     NULL,
     "Elicitation completed: ",
     NULL},
};

/* The question of a tool with arguments: it quotes the argument. */
static str asked_with(const struct mcp_ask *ask, const char *method)
{
    const struct json *doc = ask->doc;
    bool sample = strcmp(method, SAMPLE) == 0;
    const struct json_node *words =
        json_find(doc, ask->arguments, sample ? STR("prompt") : STR("message"));
    str raw = words && words->kind == JSON_STRING ? json_raw(doc, words) : STR("\"\"");

    return sample
               ? arena_join(ask->arena,
                            STR("{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\","
                                "\"text\":"),
                            raw,
                            STR("}}],\"maxTokens\":100}"))
               : arena_join(ask->arena,
                            STR("{\"message\":"),
                            raw,
                            STR(",\"requestedSchema\":{\"type\":\"object\",\"properties\":{"
                                "\"response\":{\"type\":\"string\",\"description\":\"User's "
                                "response\"}},\"required\":[\"response\"]}}"));
}

static void mcp_conformance_write_answer(const struct mcp_ask *ask, const struct question *q,
                                         struct mcp_answer *answer)
{
    const struct json *doc = ask->doc;
    const struct json_node *first = json_find(doc, ask->inputs, str_c(q->ask[0].key)),
                           *content = json_find(doc, first, STR("content"));
    str said = json_raw(doc, first);

    assert(q->say && q->ask[0].key);
    if (q->from)
        said = mcp_member(doc, content, str_c(q->from), ask->arena);
    else if (json_find(doc, first, STR("action")))
        said = arena_join(ask->arena,
                          arena_join(ask->arena,
                                     STR("action="),
                                     mcp_member(doc, first, STR("action"), ask->arena),
                                     STR(", content=")),
                          content ? json_raw(doc, content) : STR("{}"),
                          STR(""));
    mcp_answer_text(answer, arena_join(ask->arena, str_c(q->say), said, STR("")));
}

static void conformance_ask_question(void *ctx, const struct mcp_ask *ask,
                                     struct mcp_answer *answer)
{
    str name = tool_name(ask);
    const struct question *q = questions;
    bool all = true;

    (void)ctx;
    while (q < questions + COUNT_OF(questions) && !str_eq(name, str_c(q->tool)))
        q++;
    assert(q < questions + COUNT_OF(questions)); /* called only for tools of the table */
    for (size_t i = 0; i < COUNT_OF(q->ask) && q->ask[i].key; i++)
        all = all && json_find(ask->doc, ask->inputs, str_c(q->ask[i].key));
    if (all && (!q->state || str_eq(ask->state, str_c(q->state)))) {
        mcp_conformance_write_answer(ask, q, answer);
        return;
    }
    for (size_t i = 0; i < COUNT_OF(q->ask) && q->ask[i].key; i++)
        mcp_answer_input(answer,
                         str_c(q->ask[i].key),
                         str_c(q->ask[i].method),
                         q->ask[i].params ? str_c(q->ask[i].params)
                                          : asked_with(ask, q->ask[i].method));
    if (q->state)
        mcp_answer_state(answer, str_c(q->state));
}

static void conformance_ask_rounds(void *ctx, const struct mcp_ask *ask, struct mcp_answer *answer)
{
    static const struct {
        const char *state, *key, *params;
    } steps[] = {
        {"", "step1", NAME_FORM},
        {"round 1",
         "step2",
         FORM("Step 2: What is your favorite color?",
              "\"color\":{\"type\":\"string\"}",
              "\"color\"")},
    };
    bool first =
        str_eq(ask->state, STR("round 1")) && json_find(ask->doc, ask->inputs, STR("step1"));
    bool second =
        str_eq(ask->state, STR("round 2")) && json_find(ask->doc, ask->inputs, STR("step2"));

    (void)ctx;
    if (second) {
        mcp_answer_text(answer, STR("Multi-round complete"));
        return;
    }
    mcp_answer_input(answer, str_c(steps[first].key), STR(ELICIT), str_c(steps[first].params));
    mcp_answer_state(answer, first ? STR("round 2") : STR("round 1"));
}

static void conformance_ask_by_capability(void *ctx, const struct mcp_ask *ask,
                                          struct mcp_answer *answer)
{
    (void)ctx;
    if (json_count(ask->doc, ask->inputs)) {
        mcp_answer_text(answer, STR("capabilities-ok"));
        return;
    }
    if (ask->caps & MCP_ELICITATION)
        mcp_answer_input(answer, STR("elicit_input"), STR(ELICIT), STR(NAME_FORM));
    if (ask->caps & MCP_SAMPLING)
        mcp_answer_input(
            answer, STR("sample_input"), STR(SAMPLE), STR(PROMPT("Sample request", "50")));
    if (ask->caps & (MCP_ELICITATION | MCP_SAMPLING))
        mcp_answer_state(answer, STR("capabilities-test"));
    else
        mcp_answer_text(answer, STR("No supported capabilities declared"));
}

/* ---- resources and prompts ---- */

static void conformance_read_resource(void *ctx, const struct mcp_ask *ask,
                                      struct mcp_answer *answer)
{
    static const struct {
        const char *uri, *json;
    } contents[] = {
        {"test://static-text",
         "{\"uri\":\"test://static-text\",\"mimeType\":\"text/plain\",\"text\":\"This is the "
         "content of the static text resource.\"}"},
        {"test://static-binary",
         "{\"uri\":\"test://static-binary\",\"mimeType\":\"image/png\",\"blob\":\"" PNG "\"}"},
        {"test://watched-resource",
         "{\"uri\":\"test://watched-resource\",\"mimeType\":\"text/plain\",\"text\":\"Watched "
         "resource content\"}"},
    };
    size_t head = sizeof "test://template/" - 1, tail = sizeof "/data" - 1;
    struct json_out o;
    struct buf b, text;

    (void)ctx;
    for (size_t i = 0; i < COUNT_OF(contents); i++)
        if (str_eq(ask->uri, str_c(contents[i].uri))) {
            mcp_answer_item(answer, str_c(contents[i].json));
            return;
        }
    buf_init(&b, MCP_MESSAGE_MAX);
    buf_init(&text, MCP_MESSAGE_MAX);
    buf_add(&text, STR("{\"templateTest\":true,\"id\":"));
    (void)json_quote(&text, str_slice(ask->uri, head, ask->uri.n - tail));
    buf_add_c(&text, '}');
    json_out_init_object(&o, &b);
    json_member_str(&o, "uri", ask->uri);
    json_member_str(&o, "mimeType", STR("application/json"));
    json_member_str(&o, "text", buf_str(&text));
    json_out_end(&o);
    mcp_answer_item(answer, buf_str(&b));
    buf_release(&text);
    buf_release(&b);
}

static void conformance_answer_prompt(void *ctx, const struct mcp_ask *ask,
                                      struct mcp_answer *answer)
{
    (void)ctx;
    if (str_eq(tool_name(ask), STR("test_simple_prompt"))) {
        mcp_answer_item(answer, STR(MESSAGE(TEXT("This is a simple prompt for testing."))));
        return;
    }
    mcp_answer_item(answer, STR(MESSAGE(IMAGE)));
    mcp_answer_item(answer, STR(MESSAGE(TEXT("Please analyze the image above."))));
}

static void conformance_answer_prompt_text(struct mcp_answer *answer, str text)
{
    struct buf b;

    buf_init(&b, MCP_MESSAGE_MAX);
    buf_add(&b, STR("{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":"));
    (void)json_quote(&b, text);
    buf_add(&b, STR("}}"));
    mcp_answer_item(answer, buf_str(&b));
    buf_release(&b);
}

static void conformance_answer_arguments(void *ctx, const struct mcp_ask *ask,
                                         struct mcp_answer *answer)
{
    str one = mcp_member(ask->doc, ask->arguments, STR("arg1"), ask->arena),
        two = mcp_member(ask->doc, ask->arguments, STR("arg2"), ask->arena);

    (void)ctx;
    conformance_answer_prompt_text(answer,
                                   arena_printf(ask->arena,
                                                "Prompt with arguments: arg1='" STR_FMT
                                                "', arg2='" STR_FMT "'",
                                                STR_ARG(one),
                                                STR_ARG(two)));
}

static void conformance_answer_embedded(void *ctx, const struct mcp_ask *ask,
                                        struct mcp_answer *answer)
{
    const struct json_node *uri = json_find(ask->doc, ask->arguments, STR("resourceUri"));
    str raw = uri && uri->kind == JSON_STRING ? json_raw(ask->doc, uri) : STR("\"test://none\"");

    (void)ctx;
    mcp_answer_item(answer,
                    arena_join(ask->arena,
                               STR("{\"role\":\"user\",\"content\":{\"type\":\"resource\","
                                   "\"resource\":{\"mimeType\":\"text/plain\",\"text\":\"Embedded "
                                   "resource content for testing.\",\"uri\":"),
                               raw,
                               STR("}}}")));
    mcp_answer_item(answer, STR(MESSAGE(TEXT("Please process the embedded resource above."))));
}

static void conformance_ask_prompt(void *ctx, const struct mcp_ask *ask, struct mcp_answer *answer)
{
    const struct json_node *said = json_find(ask->doc, ask->inputs, STR("user_context"));

    (void)ctx;
    if (said) {
        str text = mcp_member(
            ask->doc, json_find(ask->doc, said, STR("content")), STR("context"), ask->arena);

        conformance_answer_prompt_text(
            answer, arena_join(ask->arena, STR("Prompt with context: "), text, STR("")));
        return;
    }
    mcp_answer_input(answer,
                     STR("user_context"),
                     STR(ELICIT),
                     STR(FORM("What context should the prompt use?",
                              "\"context\":{\"type\":\"string\"}",
                              "\"context\"")));
}

/* ---- the tables ---- */

#define SCHEMA_2020                                                                                \
    "{\"$schema\":\"https://json-schema.org/draft/2020-12/"                                        \
    "schema\",\"type\":\"object\",\"$defs\":{"                                                     \
    "\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\",\"properties\":{\"street\":{"     \
    "\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}},\"properties\":{\"name\":{\"type\":"   \
    "\"string\"},\"address\":{\"$ref\":\"#/$defs/"                                                 \
    "address\"},\"contactMethod\":{\"type\":\"string\","                                           \
    "\"enum\":[\"phone\",\"email\"]},\"phone\":{\"type\":\"string\"},\"email\":{\"type\":"         \
    "\"string\""                                                                                   \
    "}},\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],\"if\":{"  \
    "\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},\"required\":[\"contactMethod\"]},"  \
    "\"then\":{\"required\":[\"phone\"]},\"else\":{\"required\":[\"email\"]},"                     \
    "\"additionalProperties\":false}"
#define ONE_TEXT(name)                                                                             \
    "{\"type\":\"object\",\"properties\":{\"" name                                                 \
    "\":{\"type\":\"string\"}},\"required\":[\"" name "\"]}"
#define TOOL(id, words, fn)                                                                        \
    {                                                                                              \
        .name = id, .description = words, .run = fn                                                \
    }

static const struct mcp_tool tools[] = {
    TOOL("test_simple_text", "Says a text", conformance_answer_fixed),
    TOOL("test_image_content", "Shows an image", conformance_answer_fixed),
    TOOL("test_audio_content", "Plays a sound", conformance_answer_fixed),
    TOOL("test_embedded_resource", "Embeds a resource", conformance_answer_fixed),
    TOOL("test_multiple_content_types", "Says a text, shows an image, embeds",
         conformance_answer_fixed),
    TOOL("test_tool_with_logging", "Logs while it works", conformance_answer_log),
    TOOL("test_logging_tool", "Logs while it works, if it is wanted", conformance_answer_log),
    TOOL("test_tool_with_progress", "Reports progress", conformance_answer_progress),
    TOOL("test_streaming_elicitation", "Reports progress on its stream",
         conformance_answer_progress),
    TOOL("test_error_handling", "Fails", mcp_conformance_answer_error),
    TOOL("test_trigger_tool_change", "Says that the tools changed", conformance_trigger_change),
    TOOL("test_trigger_prompt_change", "Says that the prompts changed", conformance_trigger_change),
    {.name = "test_missing_capability",
     .description = "Needs a client that can sample",
     .needs = MCP_SAMPLING,
     .run = conformance_answer_fixed},
    {.name = "test_sampling",
     .description = "Asks the client's model",
     .input = ONE_TEXT("prompt"),
     .run = conformance_ask_question},
    {.name = "test_elicitation",
     .description = "Asks the user",
     .input = ONE_TEXT("message"),
     .run = conformance_ask_question},
    TOOL("test_elicitation_sep1034_defaults", "Asks the user, with defaults",
         conformance_ask_question),
    TOOL("test_elicitation_sep1330_enums", "Asks the user to choose", conformance_ask_question),
    TOOL("test_input_required_result_elicitation", "Asks the user for a name",
         conformance_ask_question),
    TOOL("test_input_required_result_sampling", "Asks the client's model",
         conformance_ask_question),
    TOOL("test_input_required_result_list_roots", "Asks for the roots", conformance_ask_question),
    TOOL("test_input_required_result_request_state", "Keeps a state", conformance_ask_question),
    TOOL("test_input_required_result_tampered_state", "Keeps a signed state",
         conformance_ask_question),
    TOOL("test_input_required_result_multiple_inputs", "Asks three things",
         conformance_ask_question),
    TOOL("test_input_required_result_multi_round", "Asks twice", conformance_ask_rounds),
    TOOL("test_input_required_result_capabilities", "Asks what it may",
         conformance_ask_by_capability),
    {.name = "json_schema_2020_12_tool",
     .description = "Has a schema with much of JSON Schema 2020-12",
     .input = SCHEMA_2020,
     .run = conformance_answer_fixed},
    {.name = "test_custom_header",
     .description = "Has arguments that are headers too",
     .input = "{\"type\":\"object\",\"properties\":{\"region\":{\"type\":\"string\","
              "\"x-mcp-header\":\"Region\"},\"priority\":{\"type\":\"integer\",\"x-mcp-header\":"
              "\"Priority\"}}}",
     .run = conformance_answer_fixed},
};

static const struct mcp_resource resources[] = {
    {"test://static-text",
     "static-text",
     "Static Text",
     "A text",
     "text/plain",
     conformance_read_resource},
    {"test://static-binary",
     "static-binary",
     "Static Binary",
     "A pixel",
     "image/png",
     conformance_read_resource},
    {"test://watched-resource",
     "watched",
     "Watched",
     "A text",
     "text/plain",
     conformance_read_resource},
    {"test://template/{id}/data",
     "template",
     "Template",
     "Data by id",
     "application/json",
     conformance_read_resource},
};

static const struct mcp_prompt prompts[] = {
    {"test_simple_prompt", "Simple", "A prompt without arguments", NULL, conformance_answer_prompt},
    {"test_prompt_with_arguments",
     "Arguments",
     "A prompt with two arguments",
     "[{\"name\":\"arg1\",\"description\":\"First test argument\",\"required\":true},"
     "{\"name\":\"arg2\",\"description\":\"Second test argument\",\"required\":true}]",
     conformance_answer_arguments},
    {"test_prompt_with_embedded_resource",
     "Embedded",
     "A prompt with a resource in it",
     "[{\"name\":\"resourceUri\",\"description\":\"URI of the resource to "
     "embed\",\"required\":true}]",
     conformance_answer_embedded},
    {"test_prompt_with_image",
     "Image",
     "A prompt with an image in it",
     NULL,
     conformance_answer_prompt},
    {"test_input_required_result_prompt",
     "Asks",
     "A prompt that asks the user",
     NULL,
     conformance_ask_prompt},
};

const struct mcp_set cli_mcp_conformance = {
    .tools = tools,
    .tool_count = COUNT_OF(tools),
    .prompts = prompts,
    .prompt_count = COUNT_OF(prompts),
    .resources = resources,
    .resource_count = COUNT_OF(resources),
    .changes = true,
    .logs = true,
    .completes = true,
};
