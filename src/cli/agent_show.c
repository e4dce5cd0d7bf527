/* agent_show.c - see agent_show.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/agent_show.h"

#include "base/json_get.h"
#include "base/utf8.h"
#include "chat/repr.h"

#include <unistd.h>

#define SHOWN 300 /* characters shown of a text that is not the answer */
#define ARENA_MAX ((size_t)1 << 30)
#define LAST_MAX 262144

void agent_show_init(struct agent_show *s, struct cli *cli, bool json)
{
    assert(cli);
    *s = (struct agent_show){.cli = cli,
                             .json = json,
                             .agent = STR(""),
                             .model = STR(""),
                             .run = STR(""),
                             .status = STR(""),
                             .reason = STR(""),
                             .error = STR("")};
    arena_init(&s->arena, ARENA_MAX);
    buf_init(&s->last, LAST_MAX);
}

void agent_show_release(struct agent_show *s)
{
    buf_release(&s->last);
    arena_release(&s->arena);
}

/* Prints one line, truncated. */
static str show_text(struct agent_show *s, const struct json *doc, const char *name)
{
    const struct json_node *v = json_find(doc, json_root(doc), str_c(name));
    str text;

    if (!v || v->kind == JSON_NULL)
        return STR("");
    return json_text(doc, v, &s->arena, &text) ? arena_dup(&s->arena, text)
                                               : arena_dup(&s->arena, json_raw(doc, v));
}

/* The part of the run that speaks: "RUN/1.2.metrics" is "1.2.metrics". */
static void show_put_part(struct agent_show *s, struct file_out *out, str run)
{
    if (run.n > s->run.n + 1 && str_starts(run, s->run))
        file_out_printf(out, "[" STR_FMT "] ", STR_ARG(str_slice(run, s->run.n + 1, run.n)));
}

static void show_call(struct file_out *out, const struct json *doc, str tool)
{
    const struct json_node *arguments = json_find(doc, json_root(doc), STR("arguments"));
    struct buf text;

    buf_init(&text, (size_t)1 << 20);
    buf_add(&text, tool);
    buf_add_c(&text, '(');
    if (arguments && arguments->kind == JSON_OBJECT)
        repr_arguments(&text, doc, arguments);
    buf_add_c(&text, ')');
    cli_put_front(out, buf_str(&text), SHOWN);
    buf_release(&text);
}

static void show_waiting(struct agent_show *s, const struct json *doc)
{
    const struct json_node *p = json_find(doc, json_root(doc), STR("pending"));
    str *texts[] = {&s->waiting.run, &s->waiting.tool, &s->waiting.why};
    static const char *const names[] = {"run_id", "tool", "why"};

    assert(COUNT_OF(texts) == COUNT_OF(names));
    s->waiting.waits = true;
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        *texts[i] = json_copy_text(doc, p, names[i], &s->arena);
    s->waiting.arguments = STR("{}");
    if (json_find(doc, p, STR("arguments")))
        s->waiting.arguments =
            arena_dup(&s->arena, json_raw(doc, json_find(doc, p, STR("arguments"))));
    s->waiting.seq = json_get_i64(doc, p, "seq", -1);
}

/* Why a run has no answer: the exit code, and what the user can do. */
static const struct show_reason {
    const char *reason;
    int code;
    const char *advice;
} show_reasons[] = {
    {"llm_error", CLI_UNREACHABLE, "; `rationale doctor` tests the model's provider"},
    {"rate_limit_exceeded", CLI_LIMIT, "; try again later"},
    {"token_budget_exceeded", CLI_LIMIT, "; raise limits.tokens of the agent"},
    {"cost_limit_exceeded", CLI_LIMIT, "; raise limits.usd of the agent"},
    {"max_iterations_reached", CLI_LIMIT, "; raise limits.steps of the agent"},
    {"time_limit_exceeded", CLI_TIMEOUT, "; raise limits.time of the agent"},
    {"memory_limit_exceeded", CLI_LIMIT, "; let its tools return less, or lower limits.steps"},
    {"handoff_limit_exceeded", CLI_LIMIT, "; change the agents that pass it on to each other"}};

static const struct show_reason *show_reason_find(str reason)
{
    for (size_t i = 0; i < COUNT_OF(show_reasons); i++)
        if (str_eq(reason, str_c(show_reasons[i].reason)))
            return &show_reasons[i];
    return NULL;
}

/* One sentence on stderr: what failed, where, why, and what to do. */
static void show_failure(const struct agent_show *s, str detail)
{
    const struct show_reason *known = show_reason_find(s->reason);
    bool model = str_eq(s->reason, STR("llm_error")), failed = str_eq(s->status, STR("failed"));
    struct file_out out;

    assert(!str_eq(s->status, STR("done")));
    while (detail.n && detail.p[detail.n - 1] == '.')
        detail.n--;
    file_out_init(&out, STDERR_FILENO);
    file_out_add(&out, model ? STR("rationale: the model call") : STR("rationale: the run"));
    if (model && s->model.n)
        file_out_printf(&out, " (" STR_FMT ")", STR_ARG(s->model));
    if (s->agent.n)
        file_out_printf(&out, " of \"" STR_FMT "\"", STR_ARG(s->agent));
    file_out_printf(&out, "%s" STR_FMT, failed ? " " : " was ", STR_ARG(s->status));
    if (detail.n)
        file_out_add(&out, STR(": "));
    cli_put_safe(&out, detail);
    file_out_printf(&out,
                    "%s (" STR_FMT ", run " STR_FMT ")\n",
                    known ? known->advice : "",
                    STR_ARG(s->reason),
                    STR_ARG(s->run));
    file_out_flush(&out);
}

static void show_ended(struct agent_show *s, const struct json *doc)
{
    const struct json_node *result = json_find(doc, json_root(doc), STR("result"));
    const struct json_node *output = json_find(doc, result, STR("finish"));
    str text = STR(""), detail = STR("");

    assert(!s->answer || s->quiet);
    s->status = show_text(s, doc, "status");
    s->reason = show_text(s, doc, "reason");
    (void)!json_text(doc, json_find(doc, result, STR("text")), &s->arena, &text);
    (void)!json_text(doc, json_find(doc, result, STR("detail")), &s->arena, &detail);
    if (s->json)
        return;
    if (output)
        text = json_raw(doc, output);
    if (s->answer) {
        buf_add(s->answer, text);
        return;
    }
    cli_put_text(s->cli, text);
    if (text.n)
        file_out_add(&s->cli->out, STR("\n"));
    file_out_flush(&s->cli->out);
    if (!str_eq(s->status, STR("done")))
        show_failure(s, detail);
}

static void show_step(struct agent_show *s, str name, const struct json *doc)
{
    struct file_out out;
    str run = show_text(s, doc, "run_id"), text = show_text(s, doc, "text");

    file_out_init(&out, STDERR_FILENO);
    if (str_eq(name, STR("reasoning")) || (str_eq(name, STR("message")) && text.n &&
                                           !str_eq(show_text(s, doc, "tool_calls"), STR("[]")))) {
        show_put_part(s, &out, run);
        file_out_add(&out, str_eq(name, STR("reasoning")) ? STR("thinks: ") : STR("says: "));
        cli_put_front(&out, text, SHOWN);
    } else if (str_eq(name, STR("tool_call"))) {
        show_put_part(s, &out, run);
        file_out_add(&out, STR("calls: "));
        show_call(&out, doc, show_text(s, doc, "tool"));
    } else if (str_eq(name, STR("tool_result"))) {
        show_put_part(s, &out, run);
        file_out_add(&out,
                     str_eq(show_text(s, doc, "ok"), STR("true")) ? STR("  result: ")
                                                                  : STR("  failed: "));
        cli_put_front(&out, show_text(s, doc, "result"), SHOWN);
    }
    file_out_flush(&out);
}

/* Prints the error of a failed model call, unless the run's end is about to report it. */
static void show_error(struct agent_show *s, str name, bool root, const struct json *doc)
{
    const struct json_node *error = json_find(doc, json_root(doc), STR("error"));
    struct file_out out;

    if (s->error.n && !(root && str_eq(name, STR("ended")))) {
        file_out_init(&out, STDERR_FILENO);
        file_out_add(&out, STR("error: "));
        cli_put_front(&out, s->error, SHOWN);
        file_out_flush(&out);
    }
    s->error =
        str_eq(name, STR("error")) ? json_copy_text(doc, error, "message", &s->arena) : STR("");
}

static void show_json(struct agent_show *s, str name, str id, str json)
{
    struct buf line;

    assert(s->json);
    buf_init(&line, json.n + id.n + 256);
    buf_printf(&line, "{\"event\":\"" STR_FMT "\",\"id\":", STR_ARG(name));
    (void)json_quote(&line, id);
    buf_add_c(&line, ',');
    buf_add(&line, str_slice(json, 1, json.n));
    buf_add_c(&line, '\n');
    cli_put_json(s->cli, buf_str(&line));
    file_out_flush(&s->cli->out);
    buf_release(&line);
}

void agent_show_event(struct agent_show *s, str name, str id, str json)
{
    struct json doc;
    struct err e;
    bool root;

    if (!json_open(&doc, json, &e)) {
        json_release(&doc);
        return;
    }
    if (id.n) {
        buf_reset(&s->last);
        buf_add(&s->last, id);
    }
    if (!s->run.n)
        s->run = show_text(s, &doc, "run_id");
    root = str_eq(s->run, show_text(s, &doc, "run_id"));
    if (s->json) {
        show_json(s, name, id, json);
    } else if (!s->quiet) {
        show_error(s, name, root, &doc);
        show_step(s, name, &doc);
    }
    if (str_eq(name, STR("waiting")))
        show_waiting(s, &doc);
    else if (str_eq(name, STR("ended")) && root)
        show_ended(s, &doc);
    json_release(&doc);
}

int agent_show_code(const struct agent_show *s)
{
    const struct show_reason *known = show_reason_find(s->reason);

    if (str_eq(s->status, STR("done")))
        return CLI_OK;
    if (s->waiting.waits)
        return CLI_TIMEOUT;
    if (known)
        return known->code;
    return str_eq(s->status, STR("cancelled")) || !s->status.n ? CLI_SIGINT : CLI_NEGATIVE;
}
