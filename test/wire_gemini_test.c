/* The Gemini dialect, with our own cases.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire_help.h"

#define CHUNK(parts, more)                                                                         \
    "{\"candidates\":[{\"content\":{\"parts\":[" parts "],\"role\":\"model\"},\"index\":0" more    \
    "}],\"modelVersion\":\"g\",\"responseId\":\"R\"}"
#define DATA(json) "data: " json "\r\n\r\n"
#define STOP ",\"finishReason\":\"STOP\""

static void check_events(const char *bytes, enum frames_kind kind, const char *want)
{
    for (size_t piece = 0; piece < 10; piece++) {
        struct notes n;

        notes_init(&n);
        decode_to(&wire_gemini, str_c(bytes), kind, piece, &n);
        CHECK_STR(buf_str(&n.all), want);
        notes_release(&n);
    }
}

TEST(parts_of_one_kind_are_one_block_over_chunks)
{
    check_events(
        DATA(CHUNK("{\"text\":\"hm\",\"thought\":true}", ""))
            DATA(CHUNK("{\"text\":\" so\",\"thought\":true},{\"text\":\"yes\"}", STOP)) DATA(
                "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"!\",\"thoughtSignature\":"
                "\"S\"}]},\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":7,"
                "\"candidatesTokenCount\":2,\"thoughtsTokenCount\":5,"
                "\"cachedContentTokenCount\":3}}"),
        FRAMES_SSE,
        "\nstart R g\nreasoning 0.0: hm so\ntext 0.1: yes!\nsignature 0.1: S\nusage 7 7 5 3 "
        "-1\nstop "
        "end STOP\nend");
}

TEST(a_stream_may_be_an_array)
{
    check_events("[" CHUNK("{\"text\":\"a\"}", "") ",\n" CHUNK("{\"text\":\"b\"}", STOP) "]",
                 FRAMES_WHOLE,
                 "\nstart R g\ntext 0.0: ab\nstop end STOP\nend");
}

TEST(what_was_blocked_is_refused)
{
    check_events("{\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}",
                 FRAMES_WHOLE,
                 "\nstart\nextra promptFeedback: {\"blockReason\":\"SAFETY\"}\nstop refused SAFETY"
                 "\nend");
    check_events("{\"candidates\":[{\"finishReason\":\"RECITATION\",\"index\":0}]}",
                 FRAMES_WHOLE,
                 "\nstart\nstop refused RECITATION\nend");
}

TEST(other_parts_are_opaque_and_other_members_extra)
{
    check_events(
        "{\"candidates\":[{\"content\":{\"parts\":[{\"executableCode\":{\"code\":\"1\"}},{"
        "\"text\":\"a\"},{\"inlineData\":{\"data\":\"QQ==\"}}]},\"groundingMetadata\":{\"g\":"
        "1},\"finishReason\":\"MAX_TOKENS\"}]}",
        FRAMES_WHOLE,
        "\nstart\nopaque 0.0: {\"executableCode\":{\"code\":\"1\"}}\ntext 0.1: a\nopaque "
        "0.2: {\"inlineData\":{\"data\":\"QQ==\"}}\nextra groundingMetadata: {\"g\":1}\nstop "
        "length MAX_TOKENS\nend");
}

TEST(errors_and_cuts_are_told)
{
    check_events(DATA("{\"error\":{\"code\":503,\"message\":\"busy\",\"status\":\"UNAVAILABLE\"}}"),
                 FRAMES_SSE,
                 "\nerror 503 busy");
    check_events(DATA(CHUNK("{\"text\":\"a\"}", "")),
                 FRAMES_SSE,
                 "\nstart R g\ntext 0.0: a\nerror 502 the provider's reply ended before it was "
                 "complete");
    check_events("{}", FRAMES_WHOLE, "\nstart\nerror 502 the provider's reply has no candidates");
    check_events(DATA(CHUNK("{\"text\":\"a\"}", "")) "data: [DONE]\n\n",
                 FRAMES_SSE,
                 "\nstart R g\ntext 0.0: a\nstop end\nend");
}

TEST(counts_beyond_every_reply_are_not_counts)
{
    check_events("{\"candidates\":[{\"finishReason\":\"STOP\"}],\"usageMetadata\":{"
                 "\"promptTokenCount\":9223372036854775807,\"toolUsePromptTokenCount\":1,"
                 "\"candidatesTokenCount\":9223372036854775807,\"thoughtsTokenCount\":5}}",
                 FRAMES_WHOLE,
                 "\nstart\nusage -1 5 5 -1 -1\nstop end STOP\nend");
}

TEST(an_error_in_a_list_of_chunks_is_told)
{
    check_events("[" CHUNK("{\"text\":\"a\"}", "") ",{\"error\":{\"code\":503,\"message\":\"busy\","
                                                   "\"status\":\"UNAVAILABLE\"}}]",
                 FRAMES_WHOLE,
                 "\nstart R g\ntext 0.0: a\nerror 503 busy");
}

TEST(an_error_says_when_to_come_back)
{
    struct chat_error e = {
        .type = STR(""), .message = STR(""), .code = STR(""), .retry_after_ms = -1};
    struct json doc;
    struct arena a;
    struct err why;

    json_init(&doc);
    arena_init(&a, 1 << 16);
    CHECK(json_parse(&doc,
                     STR("[{\"error\":{\"code\":429,\"message\":\"slow\",\"status\":"
                         "\"RESOURCE_EXHAUSTED\",\"details\":[{\"retryDelay\":\"34.07s\"}]}}]"),
                     &why));
    wire_gemini.read_error(&doc, &a, &e);
    CHECK_INT(e.status, 429);
    CHECK_INT(e.retry_after_ms, 34070);
    CHECK_STR(e.message, "slow");
    CHECK_STR(e.type, "RESOURCE_EXHAUSTED");
    json_release(&doc);
    arena_release(&a);
}

/* ---- encoding ---- */

TEST(events_become_chunks_an_array_or_a_whole)
{
    for (int how = 0; how < 3; how++) {
        struct chat_event list[] = {event(CHAT_START, 0, ""),
                                    event(CHAT_REASONING, 0, "hm"),
                                    event(CHAT_TEXT, 1, "a"),
                                    event(CHAT_CALL, 2, ""),
                                    event(CHAT_ARGUMENTS, 2, "{\r\"x\":\n"),
                                    event(CHAT_ARGUMENTS, 2, "1}"),
                                    event(CHAT_USAGE, 0, ""),
                                    event(CHAT_STOP, 0, ""),
                                    event(CHAT_END, 0, "")};
        struct chat_request r = {.model = STR("asked")};
        struct chat_usage u = chat_usage_none;
        struct wire_encoder en;
        struct notes n;
        struct arena a;
        struct buf out;

        u.input = 3;
        u.output = 9;
        u.reasoning = 4;
        list[3].id = STR("c1");
        list[3].name = STR("f");
        list[6].usage = &u;
        list[7].stop = CHAT_STOP_TOOL;
        arena_init(&a, HELP_SIZE_MAX);
        buf_init(&out, HELP_SIZE_MAX);
        wire_encoder_init(&en, &wire_gemini, &r, how < 2, &a, &out);
        en.id = STR("ours");
        if (how == 1)
            wire_gemini_array(&en);
        wire_encode_comment(&en, STR("x"));
        for (size_t i = 0; i < COUNT_OF(list); i++)
            wire_encode(&en, &list[i]);
        notes_init(&n);
        decode_to(&wire_gemini, buf_str(&out), how == 0 ? FRAMES_SSE : FRAMES_WHOLE, 0, &n);
        CHECK_HAS(buf_str(&n.all),
                  "\nstart ours asked\nreasoning 0.0: hm\ntext 0.1: a\ncall 0.2 c1 f");
        CHECK_HAS(buf_str(&n.all), "1}\nusage 3 9 4 -1 -1\nstop tool STOP\nend");
        CHECK_INT(n.errors, 0);
        notes_release(&n);
        buf_release(&out);
        arena_release(&a);
    }
}

TEST(each_candidate_says_how_it_ended)
{
    for (int stream = 0; stream < 2; stream++) {
        struct chat_event list[] = {event(CHAT_START, 0, ""),
                                    event(CHAT_TEXT, 0, "a"),
                                    event(CHAT_TEXT, 0, "b"),
                                    event(CHAT_EXTRA, 0, "1"),
                                    event(CHAT_EXTRA, 0, "2"),
                                    event(CHAT_STOP, 0, ""),
                                    event(CHAT_STOP, 0, ""),
                                    event(CHAT_END, 0, "")};
        struct pass *p = malloc(sizeof *p);
        struct notes n;

        assert(p);
        list[2].choice = list[4].choice = list[6].choice = 1;
        list[3].name = list[4].name = STR("avgLogprobs");
        list[3].dialect = list[4].dialect = CHAT_GEMINI;
        list[6].stop = CHAT_STOP_LENGTH;
        pass_init(p, &wire_gemini, &wire_gemini, stream);
        for (size_t i = 0; i < COUNT_OF(list); i++)
            wire_encode(&p->en, &list[i]);
        notes_init(&n);
        decode_to(&wire_gemini, buf_str(&p->out), stream ? FRAMES_SSE : FRAMES_WHOLE, 0, &n);
        CHECK_HAS(buf_str(&n.all), "stop end STOP\nstop length MAX_TOKENS\nend");
        CHECK_HAS(buf_str(&n.all), "extra avgLogprobs: 1\n");
        CHECK_HAS(buf_str(&n.all), "extra avgLogprobs: 2\n");
        notes_release(&n);
        pass_release(p);
        free(p);
    }
}

/* A block that does not fit must not leave the body incomplete, and a call must not be
 * truncated. */
TEST(a_reply_without_room_is_an_error)
{
    static const enum chat_event_kind kinds[] = {CHAT_SIGNATURE, CHAT_OPAQUE, CHAT_ARGUMENTS};

    for (size_t i = 0; i < 2 * COUNT_OF(kinds); i++) {
        bool stream = i >= COUNT_OF(kinds), call = kinds[i % COUNT_OF(kinds)] == CHAT_ARGUMENTS;
        struct chat_event list[] = {event(CHAT_START, 0, ""),
                                    event(call ? CHAT_CALL : CHAT_START, 0, ""),
                                    event(kinds[i % COUNT_OF(kinds)], 0, ""),
                                    event(CHAT_STOP, 0, ""),
                                    event(CHAT_END, 0, "")};
        struct chat_request r = {.model = STR("asked")};
        struct wire_encoder en;
        struct notes n;
        struct arena a;
        struct buf out, big;

        arena_init(&a, (size_t)400 << 10);
        buf_init(&out, HELP_SIZE_MAX);
        buf_init(&big, HELP_SIZE_MAX);
        buf_printf(&big, "{\"inlineData\":\"%0*d\"}", 300 << 10, 0);
        list[2].dialect = CHAT_GEMINI;
        list[2].text = buf_str(&big);
        wire_encoder_init(&en, &wire_gemini, &r, stream, &a, &out);
        for (size_t k = 0; k < COUNT_OF(list); k++)
            wire_encode(&en, &list[k]);
        notes_init(&n);
        decode_to(&wire_gemini, buf_str(&out), stream ? FRAMES_SSE : FRAMES_WHOLE, 0, &n);
        if (!stream || call)
            CHECK_HAS(buf_str(&n.all), "error 502 the reply is too large");
        else /* a stream emits these at once */
            CHECK_INT(n.errors, 0);
        notes_release(&n);
        buf_release(&big);
        buf_release(&out);
        arena_release(&a);
    }
}

TEST(hidden_thoughts_leave_the_rest_of_the_chunk)
{
    struct pass *p = malloc(sizeof *p);

    assert(p);
    pass_init(p, &wire_gemini, &wire_gemini, true);
    p->relay = p->hide = true;
    feed_bytes(&p->feed,
               STR(DATA(CHUNK("{\"text\":\"hm\",\"thought\":true}", "")) DATA(
                   CHUNK("{\"text\":\"so\",\"thought\":true}, {\"text\":\"yes\",\"z\":1}", ""))
                       DATA(CHUNK("{\"text\":\"x\",\"thought\":true}", STOP))),
               FRAMES_SSE,
               0);
    CHECK_STR(buf_str(&p->out),
              "data: " CHUNK("{\"text\":\"yes\",\"z\":1}", "") "\n\ndata: " CHUNK("{\"text\":\"\"}",
                                                                                  STOP) "\n\n");
    pass_release(p);
    free(p);
}

/* Proxies send a list of chunks in one event; a stream without alt=sse is a single list. */
TEST(hidden_thoughts_do_not_leave_in_a_list_of_chunks)
{
    static const char first[] = CHUNK("{\"text\":\"hm\",\"thought\":true}", "");
    static const char last[] =
        CHUNK("{\"text\":\"hush\",\"thought\":true},{\"text\":\"yes\"}", STOP);

    for (int whole = 0; whole < 2; whole++) {
        enum frames_kind kind = whole ? FRAMES_WHOLE : FRAMES_SSE;
        struct pass *p = malloc(sizeof *p);
        struct notes n;
        struct buf b;

        assert(p);
        buf_init(&b, HELP_SIZE_MAX);
        buf_printf(&b, whole ? "[%s,\n%s]" : "data: [%s]\n\ndata: [%s]\n\n", first, last);
        pass_init(p, &wire_gemini, &wire_gemini, !whole);
        p->relay = p->hide = true;
        feed_bytes(&p->feed, buf_str(&b), kind, 0);
        for (size_t i = 0; i < p->n; i++) /* the final events, which belong to no frame */
            wire_encode(&p->en, &p->events[i]);
        CHECK_NOT(buf_str(&p->out), "hm");
        CHECK_NOT(buf_str(&p->out), "hush");
        notes_init(&n);
        decode_to(&wire_gemini, buf_str(&p->out), kind, 0, &n);
        CHECK_HAS(buf_str(&n.all), "text 0.0: yes");
        CHECK_HAS(buf_str(&n.all), "stop end STOP\nend");
        CHECK_INT(n.errors, 0);
        notes_release(&n);
        buf_release(&b);
        pass_release(p);
        free(p);
    }
}

/* ---- requests ---- */

TEST(a_body_is_read_in_both_spellings)
{
    struct buf out, body;

    buf_init(&out, HELP_SIZE_MAX);
    buf_init(&body, HELP_SIZE_MAX);
    read_to(
        &wire_gemini,
        STR("{\"system_instruction\":{\"parts\":{\"text\":\"be\"}},\"contents\":[{\"parts\":[{"
            "\"text\":\"q\"}]},{\"role\":\"model\",\"parts\":[{\"function_call\":{\"name\":\"f\"},"
            "\"thought_signature\":\"S\"},{\"functionCall\":{\"name\":\"f\",\"args\":{\"n\":2}}}]},"
            "{\"role\":\"function\",\"parts\":[{\"functionResponse\":{\"name\":\"f\",\"response\":{"
            "\"output\":\"one\"}}},{\"functionResponse\":{\"name\":\"f\",\"response\":{\"error\":"
            "\"two\"}}}]}],\"tools\":[{\"google_search\":{}},{\"function_declarations\":[{\"name\":"
            "\"f\",\"parameters\":{\"type\":\"OBJECT\",\"properties\":{\"type\":{\"type\":"
            "\"STRING\",\"nullable\":true},\"l\":{\"type\":\"ARRAY\",\"maxItems\":\"3\",\"items\":"
            "{\"type\":\"INTEGER\"}}}}}]}],\"tool_config\":{\"function_calling_config\":{\"mode\":"
            "\"ANY\",\"allowed_function_names\":[\"f\"]}},\"generation_config\":{\"temperature\":"
            "0.70,\"max_output_tokens\":9,\"stop_sequences\":[\"x\"],\"thinking_config\":{"
            "\"thinking_budget\":300,\"include_thoughts\":true},\"response_mime_type\":"
            "\"application/json\"}}"),
        &out,
        &body);
    CHECK_STR(
        buf_str(&out),
        "message 0\n  part 0 00 [be|||||||]\nmessage 1\n  part 0 00 [q|||||||]\nmessage 2\n"
        "  part 4 00 [|S|call_0|f|{}|||]\n  part 4 00 [||call_1|f|{\"n\":2}|||]\nmessage 3\n"
        "  part 5 00 [||call_0|f||||]\n  part 0 00 [one|||||||]\n  part 5 10 [||call_1|f||||]\n"
        "  part 0 00 [two|||||||]\ntool [google_search|||{\"google_search\":{}}] 00\n"
        "tool [f||{\"type\":\"object\",\"properties\":{\"type\":{\"type\":[\"string\",\"null\"]},"
        "\"l\":{\"type\":\"array\",\"maxItems\":3,\"items\":{\"type\":\"integer\"}}}}|] 00\n"
        "choice 4 f parallel 00\nmax 9 t 0.70 p  k  seed \nformat 2 \nstream 0 thoughts 10 level "
        "2 budget 300 user \nstop x\n");
    CHECK_HAS(buf_str(&body),
              "{\"functionCall\":{\"id\":\"call_0\",\"name\":\"f\",\"args\":{}},"
              "\"thoughtSignature\":\"S\"}");
    CHECK_HAS(buf_str(&body),
              "\"functionResponse\":{\"id\":\"call_1\",\"name\":\"f\",\"response\":{"
              "\"error\":\"two\"}}");
    CHECK_HAS(buf_str(&body), "\"parametersJsonSchema\":{\"type\":\"object\"");
    buf_release(&out);
    buf_release(&body);
}

/* Gemini refuses a request without contents; other dialects allow it. */
TEST(a_request_of_a_system_prompt_alone_has_contents)
{
    struct chat_part part = part_new(CHAT_PART_TEXT, CHAT_OPENAI);
    struct chat_message system = {
        .role = CHAT_SYSTEM, .name = STR(""), .parts = &part, .part_count = 1};
    struct chat_request r;
    struct buf out;

    part_request_init(&r, CHAT_OPENAI, NULL);
    part.text = STR("speak");
    r.messages = &system;
    r.message_count = 1;
    buf_init(&out, HELP_SIZE_MAX);
    wire_gemini.write(&r, &out);
    CHECK_HAS(buf_str(&out), "\"systemInstruction\":{\"parts\":[{\"text\":\"speak\"}]}");
    CHECK_HAS(buf_str(&out),
              "\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"" SILENT_USER_TEXT "\"}]}]");
    buf_release(&out);
}

TEST(a_wrong_body_is_refused_with_its_member)
{
    static const struct {
        const char *body, *why;
    } cases[] = {
        {"1", "the body should be a JSON object"},
        {"{}", "contents: contents is not specified"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check_refused(&wire_gemini, cases[i].body, cases[i].why);
}

TEST(a_value_that_is_not_known_is_left_to_its_own_providers)
{
    static const struct {
        const char *body, *why;
    } cases[] = {
        {"{\"contents\":[{\"role\":\"bot\"}]}", "contents.0.role: should be 'user' or 'model'"},
        {"{\"contents\":[{\"parts\":[1]}]}", "contents.0.parts.0: should be an object"},
        {"{\"contents\":[{\"parts\":[{\"functionCall\":{}}]}]}",
         "contents.0.parts.0.functionCall.name: is missing"},
        {"{\"contents\":[{}],\"generationConfig\":{\"temperature\":\"x\"}}",
         "generationConfig.temperature: should be a number"},
        {"{\"contents\":[{}],\"generationConfig\":{\"thinkingConfig\":{\"thinkingBudget\":-2}}}",
         "generationConfig.thinkingConfig.thinkingBudget: should be -1, 0 or a number of tokens"},
        {"{\"contents\":[{}],\"tools\":[{\"functionDeclarations\":[{}]}]}",
         "tools.0.functionDeclarations.0.name: Field required"},
        {"{\"contents\":[{}],\"generationConfig\":{\"seed\":\"1.5\"}}",
         "generationConfig.seed: should be a whole number"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check_deferred(&wire_gemini, cases[i].body, cases[i].why);
}

TEST(hole_5_thinking_is_told_as_the_model_knows_it)
{
    static const struct {
        const char *model;
        enum chat_level level;
        int64_t budget;
        const char *want;
    } cases[] = {
        {"gemini-2.5-flash",
         CHAT_LEVEL_NONE,
         -1,
         "{\"thinkingBudget\":0,\"includeThoughts\":false}"},
        {"gemini-2.5-flash",
         CHAT_LEVEL_LOW,
         128,
         "{\"thinkingBudget\":128,\"includeThoughts\":true}"},
        {"gemini-2.5-flash-lite",
         CHAT_LEVEL_LOW,
         128,
         "{\"thinkingBudget\":512,\"includeThoughts\":true}"},
        {"gemini-2.5-flash-lite",
         CHAT_LEVEL_NONE,
         -1,
         "{\"thinkingBudget\":0,\"includeThoughts\":false}"},
        {"gemini-2.5-pro",
         CHAT_LEVEL_NONE,
         -1,
         "{\"thinkingBudget\":128,\"includeThoughts\":false}"},
        {"gemini-2.5-pro",
         CHAT_LEVEL_ON,
         90000,
         "{\"thinkingBudget\":32768,\"includeThoughts\":true}"},
        {"gemini-3-flash-preview",
         CHAT_LEVEL_NONE,
         -1,
         "{\"thinkingLevel\":\"MINIMAL\",\"includeThoughts\":false}"},
        {"gemini-3-pro-preview",
         CHAT_LEVEL_MEDIUM,
         -1,
         "{\"thinkingLevel\":\"HIGH\",\"includeThoughts\":true}"},
        {"gemini-3.1-pro-preview",
         CHAT_LEVEL_MEDIUM,
         -1,
         "{\"thinkingLevel\":\"MEDIUM\",\"includeThoughts\":true}"},
        {"gemini-3.5-flash",
         CHAT_LEVEL_MAX,
         -1,
         "{\"thinkingLevel\":\"HIGH\",\"includeThoughts\":true}"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct wire_plan p = no_plan();
        char want[256];

        p.model = str_c(cases[i].model);
        p.set_level = true;
        p.level = cases[i].level;
        p.budget_tokens = cases[i].budget;
        snprintf(
            want, sizeof want, "{\"generationConfig\":{\"thinkingConfig\":%s}}", cases[i].want);
        check_patch(&wire_gemini,
                    "{\"generationConfig\":{\"thinkingConfig\":{\"thinkingBudget\":5}}}",
                    &p,
                    want);
    }
}

static size_t find_kept(void *ctx, str id, struct wire_kept *out, size_t n_max)
{
    (void)ctx;
    if (n_max == 0 || !str_eq(id, STR("a")))
        return 0;
    out[0] = (struct wire_kept){STR("thoughtSignature"), STR("K")};
    return 1;
}

TEST(wishes_are_edits_of_the_body)
{
    struct wire_vault vault = {.find = find_kept};
    struct wire_tail tail = {.role = CHAT_USER, .text = STR("say"), .reasoning = STR("")};
    struct wire_plan p = no_plan();

    p.model = STR("gemini-3-flash");
    p.vault = &vault;
    p.system_extra = STR("more");
    p.temperature = STR("0.5");
    p.max_tokens = STR("77");
    p.tails = &tail;
    p.tail_count = 1;
    p.drop_tools = true;
    check_patch(
        &wire_gemini,
        "{\"system_instruction\":{\"parts\":[{\"text\":\"s\"}]},\"contents\":[{\"role\":\"model\","
        "\"parts\":[{\"functionCall\":{\"id\":\"a\",\"name\":\"f\"}},{\"functionCall\":{\"id\":"
        "\"b\"}}"
        "]},{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"id\":\"c\"}}]},{\"role\":\"user\","
        "\"parts\":[]}],\"tools\":[],\"generation_config\":{\"max_output_tokens\":5}}",
        &p,
        "{\"system_instruction\":{\"parts\":[{\"text\":\"s\"},{\"text\":\"more\"}]},\"contents\":[{"
        "\"role\":\"model\",\"parts\":[{\"functionCall\":{\"id\":\"a\",\"name\":\"f\"},"
        "\"thoughtSignature\":\"K\"},{\"functionCall\":{\"id\":\"b\"}}]},{\"role\":\"model\","
        "\"parts\":"
        "[{\"functionCall\":{\"id\":\"c\"},\"thoughtSignature\":\"skip_thought_signature_"
        "validator\"}]}"
        ",{\"role\":\"user\",\"parts\":[{\"text\":\"say\"}]}],\"tools\":[],\"generation_config\":{"
        "\"max_output_tokens\":77,\"temperature\":0.5},\"toolConfig\":{\"functionCallingConfig\":{"
        "\"mode\":\"NONE\"}}}");
}

/* A single content, and a single part, may be outside a list. */
TEST(a_message_is_added_to_a_single_content)
{
    static const struct wire_tail tails[] = {{.role = CHAT_USER, .text = STR_INIT("b")},
                                             {.role = CHAT_USER, .text = STR_INIT("c")}};

    check_patch(&wire_gemini,
                "{\"contents\":{\"parts\":[{\"text\":\"a\"}]}}",
                PLAN(.tails = tails, .tail_count = 2),
                "{\"contents\":{\"parts\":[{\"text\":\"a\"},{\"text\":\"b\"},{\"text\":\"c\"}]}}");
    check_patch(&wire_gemini,
                "{\"contents\":{\"role\":\"model\",\"parts\":[{\"text\":\"a\"}]}}",
                PLAN(.tails = tails, .tail_count = 2),
                "{\"contents\":[{\"role\":\"model\",\"parts\":[{\"text\":\"a\"}]},{\"role\":"
                "\"user\",\"parts\":[{\"text\":\"b\"}]},{\"role\":\"user\",\"parts\":[{\"text\":"
                "\"c\"}]}]}");
}

/* Vercel's SDK, LiteLLM, LangChain and Pydantic AI send a placeholder if they have no signature. */
TEST(a_stand_in_gives_way_to_the_signature_that_was_kept)
{
    static const char *const stand_ins[] = {"skip_thought_signature_validator",
                                            "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=",
                                            "context_engineering_is_the_way_to_go"};
    struct wire_vault vault = {.find = find_kept};
    struct wire_plan p = no_plan();

    p.model = STR("gemini-3-flash");
    p.vault = &vault;
    for (size_t i = 0; i < COUNT_OF(stand_ins); i++) {
        char body[400], want[400];

        snprintf(body,
                 sizeof body,
                 "{\"contents\":[{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"id\":\"a\"},"
                 "\"thoughtSignature\":\"%s\"}]},{\"role\":\"model\",\"parts\":[{\"functionCall\":"
                 "{\"id\":\"c\"},\"thoughtSignature\":\"%s\"}]}]}",
                 stand_ins[i],
                 stand_ins[i]);
        snprintf(want,
                 sizeof want,
                 "{\"contents\":[{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"id\":\"a\"},"
                 "\"thoughtSignature\":\"K\"}]},{\"role\":\"model\",\"parts\":[{\"functionCall\":"
                 "{\"id\":\"c\"},\"thoughtSignature\":\"%s\"}]}]}",
                 stand_ins[i]);
        check_patch(&wire_gemini, body, &p, want);
    }
}

TEST(the_address_has_the_model)
{
    struct buf out;

    buf_init(&out, 4096);
    wire_gemini.path(STR("models/gemini 3?"), true, &out);
    CHECK_STR(buf_str(&out), "/v1beta/models/gemini%203%3F:streamGenerateContent?alt=sse");
    buf_reset(&out);
    wire_gemini.path(STR("g"), false, &out);
    CHECK_STR(buf_str(&out), "/v1beta/models/g:generateContent");
    buf_release(&out);
}

TEST_MAIN(T(parts_of_one_kind_are_one_block_over_chunks), T(a_stream_may_be_an_array),
          T(what_was_blocked_is_refused), T(other_parts_are_opaque_and_other_members_extra),
          T(errors_and_cuts_are_told), T(an_error_says_when_to_come_back),
          T(events_become_chunks_an_array_or_a_whole),
          T(hidden_thoughts_leave_the_rest_of_the_chunk), T(a_body_is_read_in_both_spellings),
          T(a_wrong_body_is_refused_with_its_member),
          T(a_value_that_is_not_known_is_left_to_its_own_providers),
          T(hole_5_thinking_is_told_as_the_model_knows_it), T(wishes_are_edits_of_the_body),
          T(a_stand_in_gives_way_to_the_signature_that_was_kept), T(the_address_has_the_model),
          T(hidden_thoughts_do_not_leave_in_a_list_of_chunks),
          T(an_error_in_a_list_of_chunks_is_told), T(counts_beyond_every_reply_are_not_counts),
          T(a_reply_without_room_is_an_error), T(each_candidate_says_how_it_ended),
          T(a_request_of_a_system_prompt_alone_has_contents),
          T(a_message_is_added_to_a_single_content))
