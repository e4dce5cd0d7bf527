/* `rationale show`: prints one session, or one call.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/history.h"

#include "base/utf8.h"

#define REPEAT_CHARS 200 /* characters that decide whether a text was already shown */

enum { CONFIG, JSON };

static const struct cli_option options[] = {
    [CONFIG] = {"config", 'c', "FILE", NULL, "the configuration (default: rationale.yaml)"},
    [JSON] = {"json", 0, NULL, NULL, "as JSON, in the words of the history API"},
};

static void show_print_part(struct history *h, struct cli *cli, const struct json_node *v,
                            const char *name, const char *title, bool dim)
{
    str text = history_member(h, v, name);

    assert(name && title);
    if (text.n == 0)
        return;
    file_out_printf(&cli->out, "  %s%s%s\n", cli_bold(cli), title, cli_plain(cli));
    file_out_add(&cli->out, str_c(dim ? cli_dim(cli) : ""));
    history_show_text(cli, text, "    ");
    file_out_add(&cli->out, str_c(dim ? cli_plain(cli) : ""));
}

static void show_line(struct history *h, struct cli *cli, const char *title, str text)
{
    assert(title);
    if (text.n)
        file_out_printf(&cli->out,
                        "  %s%s%s " STR_FMT "\n",
                        cli_bold(cli),
                        title,
                        cli_plain(cli),
                        STR_ARG(history_line(&h->arena, text, 1000)));
}

/* A value as one line; a value whose name ends in _ms as a duration. */
static void show_value(struct history *h, struct cli *cli, const struct json_node *v,
                       const char *name, const char *title)
{
    const struct json_node *at = json_find(&h->doc, v, str_c(name));
    char took[CLOCK_DURATION_SIZE];
    int64_t ms;
    str text;

    assert(name && title);
    if (!at || at->kind == JSON_NULL)
        return;
    if (str_ends(str_c(name), STR("_ms")) && json_i64(&h->doc, at, &ms))
        text = arena_dup(&h->arena, clock_duration_ms(ms, took));
    else if (!json_text(&h->doc, at, &h->arena, &text))
        text = json_raw(&h->doc, at);
    show_line(h, cli, title, text);
}

static void show_absent(struct history *h, struct cli *cli, const struct json_node *d)
{
    str why = history_absent(h, history_member(h, d, "reasoning_absent"));

    if (why.n)
        file_out_printf(
            &cli->out, "    %s" STR_FMT "%s\n", cli_dim(cli), STR_ARG(why), cli_plain(cli));
}

/* The provider's count exceeds the cap although nothing was cut: the additional reasoning was never
 * visible. */
static void show_over(struct history *h, struct cli *cli, const struct json_node *d)
{
    int64_t cap = history_number(h, d, "cap_tokens");
    int64_t thought = history_number(h, d, "reasoning_tokens");
    const struct json_node *exact = json_find(&h->doc, d, STR("reasoning_exact"));

    if (cap < 0 || thought <= cap || history_member(h, d, "reasoning_cut").n || !exact ||
        exact->kind != JSON_TRUE)
        return;
    file_out_printf(&cli->out,
                    "    %s%lld tokens over the cap, which the provider does not show%s\n",
                    cli_dim(cli),
                    (long long)(thought - cap),
                    cli_plain(cli));
}

/* Whether one of the first n texts, which are also shown, equals this one. The first characters
 * decide, because a shortened text ends in "...". */
static bool show_repeats(struct history *h, const struct json_node *d, str text, size_t n)
{
    static const char *const shown[] = {"reasoning_content", "response", "reasoning_summary"};
    str first = str_ends(text, STR("...")) ? str_slice(text, 0, text.n - 3) : text;

    assert(n <= COUNT_OF(shown));
    first = utf8_cut_count(str_trim(first), REPEAT_CHARS);
    for (size_t i = 0; i < n && i < COUNT_OF(shown); i++)
        if (first.n && str_find(history_member(h, d, shown[i]), first) != STR_NONE)
            return true;
    return false;
}

/* "[TOOL_CALL] names: reason" or "[DIRECT] reason", without a reason that is shown already. */
static void show_decision(struct history *h, struct cli *cli, const struct json_node *d)
{
    str entry = history_member(h, d, "decision");
    str mark = str_starts(entry, STR("[DIRECT]")) ? STR("] ") : STR(": ");
    size_t at = str_find(entry, mark);

    if (at != STR_NONE && show_repeats(h, d, str_slice(entry, at + mark.n, entry.n), 3))
        entry = str_slice(entry, 0, mark.p[0] == ']' ? at + 1 : at);
    show_line(h, cli, "decision", entry);
}

/* The tools that a reply calls, one per line: NAME ARGUMENTS. */
static void show_tool_calls(struct history *h, struct cli *cli, const struct json_node *d)
{
    const struct json_node *calls = json_find(&h->doc, d, STR("tool_calls"));

    if (!calls || calls->kind != JSON_ARRAY) {
        show_value(h, cli, d, "tool_calls", "tool calls");
        return;
    }
    for (const struct json_node *c = json_first(&h->doc, calls); c;
         c = json_next(&h->doc, calls, c))
        show_line(h,
                  cli,
                  "calls",
                  arena_join(&h->arena,
                             history_member(h, c, "name"),
                             STR(" "),
                             history_member(h, c, "arguments")));
}

/* The earlier attempts, one per line: PROVIDER WHAT: WHY. */
static void show_attempts(struct history *h, struct cli *cli, const struct json_node *d)
{
    const struct json_node *all = json_find(&h->doc, d, STR("attempts"));

    if (!all || all->kind != JSON_ARRAY) {
        show_value(h, cli, d, "attempts", "attempts");
        return;
    }
    for (const struct json_node *a = json_first(&h->doc, all); a; a = json_next(&h->doc, all, a))
        show_line(h,
                  cli,
                  "attempt",
                  arena_printf(&h->arena,
                               STR_FMT " " STR_FMT ": " STR_FMT,
                               STR_ARG(history_member(h, a, "provider")),
                               STR_ARG(history_member(h, a, "what")),
                               STR_ARG(history_member(h, a, "why"))));
}

static void show_print_details(struct history *h, struct cli *cli, const struct json_node *d)
{
    show_value(h, cli, d, "provider", "provider");
    show_value(h, cli, d, "level", "level");
    show_value(h, cli, d, "cap_tokens", "cap");
    show_value(h, cli, d, "input_tokens", "tokens in");
    show_value(h, cli, d, "output_tokens", "tokens out");
    show_value(h, cli, d, "reasoning_tokens", "tokens thought");
    show_over(h, cli, d);
    show_value(h, cli, d, "cost_usd", "USD");
    show_value(h, cli, d, "stop", "stop");
    show_print_part(h, cli, d, "prompt", "asked", false);
    show_value(h, cli, d, "reasoning_state", "reasoning");
    show_absent(h, cli, d);
    show_print_part(h, cli, d, "reasoning_content", "thought", true);
    if (!show_repeats(h, d, history_member(h, d, "reasoning_summary"), 2))
        show_value(h, cli, d, "reasoning_summary", "in short");
    show_print_part(h, cli, d, "response", "answer", false);
    show_tool_calls(h, cli, d);
    show_value(h, cli, d, "server_name", "server");
    show_value(h, cli, d, "parameters", "parameters");
    show_value(h, cli, d, "result", "result");
    show_decision(h, cli, d);
    show_attempts(h, cli, d);
    show_print_part(h, cli, d, "error_message", "error", false);
}

static void show_event(struct history *h, struct cli *cli, const struct json_node *ev)
{
    const struct json_node *d = json_find(&h->doc, ev, STR("details"));
    str what = history_member(h, d, "model_name");
    int64_t ms = history_number(h, ev, "duration_ms");

    if (what.n == 0)
        what = history_member(h, d, "tool_name");
    file_out_printf(&cli->out,
                    "\n%s" STR_FMT "  " STR_FMT "  " STR_FMT "%s  %lld ms  " STR_FMT "\n",
                    cli_bold(cli),
                    STR_ARG(history_time(&h->arena, history_number(h, ev, "timestamp_us"))),
                    STR_ARG(history_line(&h->arena, history_member(h, ev, "step_description"), 80)),
                    STR_ARG(history_line(&h->arena, what, 60)),
                    cli_plain(cli),
                    (long long)(ms < 0 ? 0 : ms),
                    STR_ARG(history_line(&h->arena, history_member(h, ev, "event_id"), 60)));
    show_print_details(h, cli, d);
}

static void show_print_session(struct history *h, struct cli *cli)
{
    static const struct {
        const char *name, *title;
    } facts[] = {{"session_id", "session"},
                 {"status", "status"},
                 {"agent_type", "kind"},
                 {"alert_type", "type"},
                 {"alert_id", "incident"},
                 {"key_name", "key"},
                 {"subject", "for"},
                 {"model", "model"},
                 {"llm_interaction_count", "model calls"},
                 {"tool_call_count", "tool calls"},
                 {"duration_ms", "took"},
                 {"input_tokens", "tokens in"},
                 {"output_tokens", "tokens out"},
                 {"reasoning_tokens", "tokens thought"},
                 {"cost_usd", "USD"},
                 {"error_message", "error"},
                 {"alert_data", "given"}};
    const struct json_node *root = json_root(&h->doc);
    const struct json_node *events = json_find(&h->doc, root, STR("chronological_timeline"));

    for (size_t i = 0; i < COUNT_OF(facts); i++)
        show_value(h, cli, root, facts[i].name, facts[i].title);
    JSON_FOREACH(ev, &h->doc, events)
        show_event(h, cli, ev);
}

static int show_run(struct cli *cli, const struct cli_args *args)
{
    bool json = args->value[JSON] != NULL, is_call = false, ok;
    struct history h;
    struct err e;
    str id;
    int code;

    if (args->word_count == 0)
        return cli_complain(
            CLI_USAGE, "show needs the id of a session or of a call; `rationale list` prints them");
    code = history_open(&h, args->value[CONFIG]);
    if (code)
        return code;
    id = str_c(args->words[0]);
    ok = query_session(h.reader, &h.asker, id, &h.out, &e);
    if (!ok && e.code == ERR_NOT_FOUND) {
        buf_reset(&h.out);
        ok = is_call = query_call(h.reader, &h.asker, id, &h.out, &e);
        if (!ok && e.code == ERR_NOT_FOUND)
            err_set(&e,
                    ERR_NOT_FOUND,
                    "there is no session and no call \"%.*s\"; `rationale list` prints their ids",
                    STR_ARG(id));
    }
    code = history_show(&h, cli, ok, &e, json);
    if (code == CLI_OK && !json && is_call)
        show_print_details(&h, cli, json_root(&h.doc));
    else if (code == CLI_OK && !json)
        show_print_session(&h, cli);
    history_close(&h);
    return code;
}

const struct cli_command cli_show = {
    .name = "show",
    .summary = "show one session, or one call, as it went",
    .words = "ID",
    .about = "Shows a session with its calls and tool exchanges in order, or one call: request, "
             "reasoning (if recorded), answer and decision.",
    .examples = "  rationale show my-session\n"
                "  rationale show 01924f6e-8a51-7c3e-9b1f-5d2e8c7a4f60 --json\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .word_max = 1,
    .run = show_run,
};
