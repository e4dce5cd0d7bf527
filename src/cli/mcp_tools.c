/* mcp_tools.c - the tool of `rationale mcp` that splits a text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/mcp.h"
#include "cli/result.h"
#include "mcp/rpc.h"

#define TEXT_MAX ((size_t)8 << 20)

static void mcp_tools_put_result(const struct split *sp, const struct split_collect *c,
                                 struct mcp_answer *answer)
{
    struct json_out o;
    struct buf b;
    struct err e;

    assert(c->call_count == 0 || c->calls);
    buf_init(&b, MCP_MESSAGE_MAX);
    json_out_init_object(&o, &b);
    cli_write_result(&o, sp, c);
    json_out_end(&o);
    if (json_out_ok(&o, &e))
        mcp_answer_structured(answer, buf_str(&b));
    else
        mcp_answer_fail(answer, "the result: %s", e.text);
    buf_release(&b);
}

static void mcp_tools_split_text(void *ctx, const struct mcp_ask *ask, struct mcp_answer *answer)
{
    str text = mcp_member(ask->doc, ask->arguments, STR("text"), ask->arena),
        id = mcp_member(ask->doc, ask->arguments, STR("format"), ask->arena);
    const struct json_node *inside = json_find(ask->doc, ask->arguments, STR("inside"));
    const struct split_format *format = split_format_find(id.n ? id : STR("think"));
    struct split_collect c;
    struct split sp;
    struct err e;

    (void)ctx;
    if (!format) {
        mcp_answer_fail(answer,
                        "there is no format \"" STR_FMT "\"; `rationale split --formats` has them",
                        STR_ARG(str_slice(id, 0, 60)));
        return;
    }
    if (text.n > TEXT_MAX) {
        mcp_answer_fail(answer, "the text has %zu bytes; %zu is the limit", text.n, TEXT_MAX);
        return;
    }
    split_collect_init(&c, STR(""), TEXT_MAX);
    split_init(&sp, format, inside && inside->kind == JSON_TRUE, split_collect_sink(&c));
    split_feed(&sp, text);
    split_finish(&sp);
    if (split_collect_ok(&c, &e))
        mcp_tools_put_result(&sp, &c, answer);
    else
        mcp_answer_fail(answer, "%s", e.text);
    split_collect_release(&c);
}

static const struct mcp_tool tools[] = {
    {.name = "split_text",
     .title = "Split a text",
     .description = "Tells a model's reasoning from its answer in a whole text that a model wrote, "
                    "and reads the tool calls in it.",
     .input = "{\"type\":\"object\",\"properties\":{"
              "\"text\":{\"type\":\"string\",\"description\":\"what the model wrote\"},"
              "\"format\":{\"type\":\"string\",\"description\":\"the reasoning format, by default "
              "think; auto: the marker that the text begins with decides\"},"
              "\"inside\":{\"type\":\"boolean\",\"description\":\"whether it begins inside "
              "reasoning, which the prompt opened\"}},"
              "\"required\":[\"text\"],\"additionalProperties\":false}",
     .output = "{\"type\":\"object\",\"properties\":{"
               "\"reasoning\":{\"type\":\"string\"},\"content\":{\"type\":\"string\"},"
               "\"state\":{\"type\":\"string\",\"description\":\"none, complete or unclosed\"},"
               "\"flags\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
               "\"accounted\":{\"type\":\"object\",\"description\":\"bytes of each kind\"},"
               "\"tool_calls\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"
               "\"name\":{\"type\":\"string\"},\"arguments\":{\"type\":\"string\"}},"
               "\"required\":[\"name\",\"arguments\"]}}},"
               "\"required\":[\"reasoning\",\"content\",\"state\",\"tool_calls\"]}",
     .annotations = "{\"readOnlyHint\":true,\"idempotentHint\":true,\"openWorldHint\":false}",
     .run = mcp_tools_split_text},
};

const struct mcp_set cli_mcp_tools = {.tools = tools, .tool_count = COUNT_OF(tools)};
