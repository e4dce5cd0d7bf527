/* Replies with members of the wrong type but a clear meaning: the client gets the answer. Replies
 * that break the contract give a clear error.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire_help.h"

/* Converts a reply for a client of another dialect. With `hide` the reasoning is removed, and
 * `from` equals `to`. */
static void convert(const char *from, const char *to, const char *reply, bool hide, struct buf *out)
{
    const struct wire *w = wire_find(str_c(from));
    struct pass *p = base_alloc(sizeof *p);
    bool whole = reply[0] == '{' && !strchr(reply, '\n');

    pass_init(p, w, wire_find(str_c(to)), !whole);
    p->relay = p->hide = hide;
    p->feed.whole = whole;
    feed_bytes(&p->feed,
               str_c(reply),
               whole                              ? FRAMES_WHOLE
               : w->stream_framing == WIRE_NDJSON ? FRAMES_LINES
                                                  : FRAMES_SSE,
               0);
    buf_add(out, buf_str(&p->out));
    pass_release(p);
    free(p);
}

#define DATA(json) "data: " json "\n\n"
#define USES(in, out)                                                                              \
    "\"usageMetadata\":{\"promptTokenCount\":" in ",\"candidatesTokenCount\":" out "}"
#define GEMINI(reason)                                                                             \
    "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hello\"}]},\"finishReason\":" reason    \
    "}]," USES("\"12\"", "3.0") "}"
#define CHAT(content, reason, in)                                                                  \
    "{\"id\":7,\"choices\":[{\"index\":\"0\",\"message\":{\"content\":" content                    \
    "},\"finish_reason\":" reason "}],\"error\":{},\"usage\":{\"prompt_tokens\":" in               \
    ",\"completion_tokens\":3,\"prompt_tokens_details\":null}}"
#define CLAUDE(content, reason)                                                                    \
    "{\"type\":\"message\",\"content\":" content ",\"stop_reason\":" reason                        \
    ",\"usage\":{\"input_tokens\":\"12\",\"output_tokens\":3.0}}"
#define RESPONSE(item)                                                                             \
    "{\"id\":\"r\",\"status\":\"completed\",\"error\":\"\",\"output\":[" item                      \
    "],\"usage\":{\"input_tokens\":\"12\",\"output_tokens\":3,\"output_tokens_details\":null}}"

static const struct {
    const char *from, *to, *reply, *has[4];
} rows[] = {
    /* finishReason as an enum number, known and unknown; unknown names */
    {"gemini",
     "openai",
     GEMINI("1"),
     {"\"hello\"",
      "\"finish_reason\":\"stop\"",
      "\"prompt_tokens\":12",
      "\"completion_tokens\":3"}},
    {"gemini", "openai", GEMINI("2"), {"\"hello\"", "\"finish_reason\":\"length\""}},
    {"gemini", "openai", GEMINI("3"), {"\"hello\"", "\"finish_reason\":\"content_filter\""}},
    {"gemini", "openai", GEMINI("8"), {"\"hello\"", "\"finish_reason\":\"content_filter\""}},
    {"gemini", "openai", GEMINI("9"), {"MALFORMED_FUNCTION_CALL", "\"upstream_error\""}},
    {"gemini", "openai", GEMINI("99"), {"\"hello\"", "\"finish_reason\":\"stop\""}},
    {"gemini", "openai", GEMINI("\"2\""), {"\"hello\"", "\"finish_reason\":\"length\""}},
    {"gemini", "openai", GEMINI("\"NEW_WORD\""), {"\"hello\"", "\"finish_reason\":\"stop\""}},
    {"gemini", "openai", GEMINI("0"), {"\"hello\"", "\"finish_reason\":\"stop\""}},
    {"gemini", "anthropic", GEMINI("null"), {"\"hello\"", "\"end_turn\""}},
    {"gemini",
     "openai",
     DATA("{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hel\"}]},\""
          "finishReason\":0}],\"error\":{}}")
         DATA("{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"lo\"}]},\"f"
              "inishReason\":2}]}"),
     {"\"lo\"", "\"finish_reason\":\"length\"", "[DONE]"}},
    {"gemini", "openai", DATA(GEMINI("77")), {"\"hello\"", "\"finish_reason\":\"stop\"", "[DONE]"}},
    {"openai",
     "anthropic",
     DATA("{\"choices\":[]}") "data: [DONE]\n\n",
     {"event: error", "the provider's reply has no choices"}},
    {"gemini", "anthropic", "{\"promptFeedback\":{\"blockReason\":4}}", {"\"refusal\""}},
    {"gemini",
     "openai",
     "{\"promptFeedback\":{\"blockReason\":\"BLOCK_REASON_UNSPECIFIED\"},\"c"
     "andidates\":[{\"content\":{\"parts\":[{\"text\":\"hello\"}]}}]}",
     {"\"hello\"", "\"finish_reason\":\"stop\""}},
    {"gemini",
     "openai",
     "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":42}]},\"finish_rea"
     "son\":\"STOP\"}],\"usage_metadata\":{\"prompt_token_count\":12.9,\"candidates_token_count"
     "\":3}}",
     {"\"content\":\"42\"", "\"prompt_tokens\":12"}},
    {"gemini",
     "openai",
     "{\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"id\":5,"
     "\"name\":\"f\",\"args\":\"{\\\"a\\\":1}\"}}]},\"finishReason\":1}]}",
     {"\"id\":\"5\"", "\"arguments\":\"{\\\"a\\\":1}\"", "\"finish_reason\":\"tool_calls\""}},
    {"gemini",
     "openai",
     "{\"candidates\":[{\"index\":1,\"content\":{\"parts\":[{\"text\":\"hell"
     "o\"}]}}]}",
     {"\"hello\"", "\"index\":0"}},
    {"gemini",
     "openai",
     DATA("{\"candidates\":[{\"index\":99,\"content\":{\"parts\":[{\"text\":"
          "\"hello\"}]},\"finishReason\":1}]}") DATA("null"),
     {"\"hello\"", "\"index\":0", "[DONE]"}},
    /* Chat Completions */
    {"openai",
     "anthropic",
     DATA("null") DATA("{\"choices\":[{\"delta\":{\"content\":\"hello\"}}"
                       "]}") DATA("\"\"") DATA("[DONE]"),
     {"\"hello\"", "\"end_turn\"", "message_stop"}},
    {"openai",
     "anthropic",
     CHAT("\"hello\"", "1", "\"12\""),
     {"\"hello\"", "\"end_turn\"", "\"input_tokens\":12"}},
    {"openai",
     "anthropic",
     CHAT("42", "\"odd\"", "12.5"),
     {"\"text\":\"42\"", "\"input_tokens\":12"}},
    {"openai",
     "anthropic",
     CHAT("[7,\"x\"]", "\"length\"", "-1"),
     {"\"text\":\"7x\"", "\"max_tokens\"", "\"input_tokens\":0"}},
    {"openai",
     "anthropic",
     DATA("{\"error\":false,\"choices\":[{\"index\":0,\"delta\":{\"conten"
          "t\":\"hello\"},\"finish_reason\":3}],\"usage\":null}"),
     {"\"hello\"", "\"end_turn\"", "message_stop"}},
    {"openai",
     "anthropic",
     "{\"choices\":[{\"message\":{\"content\":null,\"tool_calls\":[{\"id"
     "\":5,\"index\":\"0\",\"function\":{\"name\":\"f\",\"arguments\":{\"a\":1}}}]},\"finish_rea"
     "son\":\"tool_calls\"}]}",
     {"\"id\":\"5\"", "\"input\":{\"a\":1}", "\"tool_use\""}},
    /* Anthropic */
    {"anthropic",
     "openai",
     CLAUDE("\"hello\"", "5"),
     {"\"hello\"",
      "\"finish_reason\":\"stop\"",
      "\"prompt_tokens\":12",
      "\"completion_tokens\":3"}},
    {"anthropic",
     "openai",
     CLAUDE("[\"hel\",{\"type\":\"text\",\"text\":10,\"citations\":null}]", "null"),
     {"hel10", "\"finish_reason\":\"stop\""}},
    {"anthropic", "openai", CLAUDE("null", "\"end_turn\""), {"\"finish_reason\":\"stop\""}},
    {"anthropic",
     "openai",
     CLAUDE("[{\"type\":\"tool_use\",\"id\":5,\"name\":\"f\",\"input\":\""
            "{\\\"a\\\":1}\"},{\"type\":\"tool_use\",\"name\":\"g\",\"input\":null}]",
            "\"tool_use\""),
     {"\"id\":\"5\"",
      "\"arguments\":\"{\\\"a\\\":1}\"",
      "\"id\":\"call_1\"",
      "\"arguments\":\"{}\""}},
    {"anthropic",
     "openai",
     DATA("{\"type\":\"content_block_start\",\"index\":\"0\",\"content_bl"
          "ock\":{\"type\":\"tool_use\",\"id\":\"i\",\"name\":\"f\",\"input\":null}}")
         DATA("{\"type\":\"content_block_delta\",\"index\":\"0\",\"delta\":{"
              "\"type\":\"input_json_delta\",\"partial_json\":{\"a\":1}}}")
             DATA("{\"type\":\"odd\",\"error\":null}") DATA(
                 "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_"
                 "use\"},\"usage\":{\"output_tokens\":\"3\"}}") DATA("{\"type\":\"message_stop\"}"),
     {"{\\\"a\\\":1}", "\"finish_reason\":\"tool_calls\"", "[DONE]"}},
    {"anthropic",
     "openai",
     CLAUDE("[{\"text\":\"hello\"},{\"type\":null,\"id\":\"i\",\"name\":"
            "\"f\",\"input\":{\"a\":1}}]",
            "\"tool_use\""),
     {"\"hello\"", "\"arguments\":\"{\\\"a\\\":1}\""}},
    {"anthropic",
     "openai",
     "event: content_block_start\ndata: {\"type\":null,\"index\":0,\"cont"
     "ent_block\":{\"text\":\"\"}}\n\nevent: content_block_delta\ndata: {\"index\":0,\"delta\":{"
     "\"type\":null,\"text\":\"hello\"}}\n\nevent: message_stop\ndata: {\"type\":7}\n\n",
     {"\"hello\"", "\"finish_reason\":\"stop\"", "[DONE]"}},
    /* Responses */
    {"responses",
     "openai",
     RESPONSE("{\"role\":\"assistant\",\"content\":[{\"text\":\"hello\"}]"
              "},{\"type\":null,\"call_id\":\"i\",\"name\":\"f\",\"arguments\":\"{}\"}"),
     {"\"hello\"", "\"name\":\"f\""}},
    {"responses",
     "openai",
     RESPONSE("{\"type\":\"message\",\"content\":[{\"type\":\"output_text"
              "\",\"text\":42,\"annotations\":null}]}"),
     {"\"content\":\"42\"", "\"prompt_tokens\":12"}},
    {"responses",
     "openai",
     RESPONSE("{\"type\":\"function_call\",\"call_id\":5,\"name\":\"f\","
              "\"arguments\":{\"a\":1}}"),
     {"\"id\":\"5\"", "\"arguments\":\"{\\\"a\\\":1}\""}},
    /* Ollama */
    {"ollama",
     "openai",
     "{\"model\":1,\"message\":{\"content\":42,\"thinking\":null},\"error\":"
     "\"\",\"done\":\"true\",\"prompt_eval_count\":\"12\",\"eval_count\":3.2}",
     {"\"content\":\"42\"", "\"prompt_tokens\":12", "\"completion_tokens\":3"}},
    {"ollama",
     "openai",
     "{\"message\":{\"content\":\"hello\"},\"done\":0}\n{\"message\":{\"cont"
     "ent\":\"\"},\"done\":1}\n",
     {"\"hello\"", "\"finish_reason\":\"stop\"", "[DONE]"}},
    /* broken contracts */
    {"openai", "anthropic", "{\"choices\":[]}", {"no choices"}},
    {"openai", "anthropic", "{\"choices\":{\"message\":{}}}", {"no choices"}},
    {"openai", "anthropic", "{\"usage\":{}}", {"no chat completion"}},
    {"anthropic",
     "openai",
     "{\"type\":\"message\",\"content\":3,\"stop_reason\":\"end_turn\"}",
     {"no content"}},
    {"anthropic", "openai", "{\"type\":\"message\"}", {"no content"}},
    {"gemini", "openai", "{\"candidates\":{}}", {"no candidates"}},
    {"responses", "openai", "{\"id\":\"r\",\"output\":null}", {"no output"}},
};

TEST(a_member_of_an_odd_kind_does_not_lose_the_answer)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct buf out;

        buf_init(&out, HELP_SIZE_MAX);
        convert(rows[i].from, rows[i].to, rows[i].reply, false, &out);
        for (size_t k = 0; k < COUNT_OF(rows[i].has) && rows[i].has[k]; k++)
            if (str_find(buf_str(&out), str_c(rows[i].has[k])) == STR_NONE)
                fail_msg("row %zu: no %s in " STR_FMT, i, rows[i].has[k], STR_ARG(buf_str(&out)));
        buf_release(&out);
    }
}

static const struct {
    const char *dialect, *reply, *has;
} hidden[] = {
    {"gemini",
     "{\"candidates\":[{\"index\":1,\"content\":{\"parts\":[{\"text\":\"secret\",\"tho"
     "ught\":true},{\"text\":\"x\"}]}}]}",
     "\"x\""},
    {"gemini",
     "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"secret\",\"thought\":1},{"
     "\"text\":42}]},\"finishReason\":1}]}",
     "42"},
    {"gemini",
     "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"secret\",\"thought\":\"tru"
     "e\"},{\"text\":\"x\"}]}}]}",
     "\"x\""},
    {"gemini",
     DATA("{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"secret\",\"thought\":"
          "1},{\"text\":42}]},\"finishReason\":1}]}"),
     "42"},
    {"openai",
     "{\"choices\":[{\"message\":{\"reasoning_content\":\"secret\",\"content\":42},\"f"
     "inish_reason\":1}]}",
     "42"},
    {"openai",
     DATA("{\"choices\":[{\"delta\":{\"reasoning_content\":\"secret\",\"content\":42},"
          "\"finish_reason\":1}]}"),
     "42"},
    {"ollama", "{\"message\":{\"thinking\":\"secret\",\"content\":42},\"done\":1}", "42"},
    {"anthropic",
     "{\"content\":[{\"type\":\"thinking\",\"thinking\":\"secret\"},{\"type\":\"tex"
     "t\",\"text\":42}],\"stop_reason\":5}",
     "42"},
};

TEST(what_is_hidden_stays_hidden_beside_it)
{
    for (size_t i = 0; i < COUNT_OF(hidden); i++) {
        struct buf out;

        buf_init(&out, HELP_SIZE_MAX);
        convert(hidden[i].dialect, hidden[i].dialect, hidden[i].reply, true, &out);
        if (str_find(buf_str(&out), str_c(hidden[i].has)) == STR_NONE ||
            str_find(buf_str(&out), STR("secret")) != STR_NONE)
            fail_msg("row %zu: " STR_FMT, i, STR_ARG(buf_str(&out)));
        buf_release(&out);
    }
}

TEST_MAIN(T(a_member_of_an_odd_kind_does_not_lose_the_answer),
          T(what_is_hidden_stays_hidden_beside_it))
