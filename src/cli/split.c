/* `rationale split`: splits one text while it arrives.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/split.h"
#include "cli/result.h"

#define TEXT_SIZE_MAX ((size_t)256 << 20)
#define READ_SIZE ((size_t)64 << 10)

enum { FORMAT, INSIDE, OPEN, CLOSE, JSON, EVENTS, SHOW, FORMATS, BATCH };

static const struct cli_option options[] = {
    [FORMAT] = {"format", 'f', "ID", NULL, "the reasoning format, or auto (default: think)"},
    [INSIDE] = {"inside", 'i', NULL, NULL, "it begins inside reasoning, which the prompt opened"},
    [OPEN] = {"open", 0, "MARKER", NULL, "a pair of your own instead of a format: what opens"},
    [CLOSE] = {"close", 0, "MARKER", NULL, "and what closes"},
    [JSON] = {"json", 0, NULL, NULL, "one object at the end"},
    [EVENTS] = {"events", 0, NULL, NULL, "one JSON line an event, live"},
    [SHOW] = {"show", 's', "WHAT", "answer reasoning both", "what to print (default: answer)"},
    [FORMATS] = {"formats", 0, NULL, NULL, "list the formats, one a line (or --json), and leave"},
    [BATCH] = {"batch", 0, NULL, NULL, "JSON Lines in, one case each; JSON Lines out"},
};

/* The output of a text. */
struct view {
    struct cli *cli;
    bool show[SPLIT_KIND_COUNT];
    bool both;
    bool safe;      /* goes to a terminal, or is mixed with our own escapes */
    bool labels;    /* names the kind in words, because there are no colours */
    int last;       /* the kind shown last, -1 for none */
    bool line_open; /* the output so far does not end in a newline */
    bool cr;        /* a carriage return is pending: before a newline it is dropped */
};

/* ---- text ---- */

/* A model's text may contain escapes that a terminal would obey: they are shown instead of sent. */
static void cli_add_safely(struct view *v, str run)
{
    struct file_out *out = &v->cli->out;
    const str shown = STR("\xEF\xBF\xBD");
    size_t size, bad;

    assert(run.n > 0);
    if (!v->safe) {
        file_out_add(out, run);
        return;
    }
    if (v->cr && run.p[0] != '\n')
        file_out_add(out, shown);
    v->cr = false;
    for (; run.n > 0; run = str_slice(run, size + bad, run.n)) {
        bool is_cr;

        size = cli_safe_size(run, &bad);
        is_cr = bad == 1 && run.p[size] == '\r';
        file_out_add(out, str_slice(run, 0, size));
        if (is_cr && size + 1 == run.n)
            v->cr = true;
        else if (bad > 0 && !(is_cr && run.p[size + 1] == '\n'))
            file_out_add(out, shown);
    }
}

/* Dims each line separately: a pager may show any of them first, and an interrupted command does
 * not leave the terminal dimmed. */
static void cli_add_dimmed(struct view *v, str run)
{
    assert(run.n > 0);
    while (run.n > 0) {
        const char *end = memchr(run.p, '\n', run.n);
        size_t size = end ? (size_t)(end - run.p) : run.n;

        if (size > 0) {
            file_out_add(&v->cli->out, str_c(cli_dim(v->cli)));
            cli_add_safely(v, str_slice(run, 0, size));
            file_out_add(&v->cli->out, str_c(cli_plain(v->cli)));
        }
        if (end)
            cli_add_safely(v, STR("\n"));
        run = str_slice(run, size + (end != NULL), run.n);
    }
}

static void cli_change_kind(struct view *v, enum split_kind kind, str run)
{
    struct file_out *out = &v->cli->out;

    assert((size_t)kind < SPLIT_KIND_COUNT && run.n > 0);
    if (v->last >= 0 && v->line_open)
        file_out_add(out, STR("\n"));
    if (v->labels)
        file_out_printf(out, "[%s]\n", split_kind_name(kind));
    else if (v->last >= 0 && run.p[0] != '\n')
        file_out_add(out, STR("\n"));
    v->last = (int)kind;
}

static void cli_text_run(void *ctx, enum split_kind kind, str run)
{
    struct view *v = ctx;

    assert(run.n > 0 && (size_t)kind < SPLIT_KIND_COUNT);
    if (!v->show[kind])
        return;
    if (v->both && v->last != (int)kind)
        cli_change_kind(v, kind, run);
    if (v->both && kind == SPLIT_REASONING)
        cli_add_dimmed(v, run);
    else
        cli_add_safely(v, run);
    v->line_open = run.p[run.n - 1] != '\n';
}

static void cli_text_note(void *ctx, const struct split_note *note)
{
    struct view *v = ctx;

    if (note->what != SPLIT_RECLASSIFY)
        return;
    if (v->cli->terminal && v->line_open)
        file_out_add(&v->cli->out, STR("\n"));
    file_out_flush(&v->cli->out);
    cli_complain(CLI_OK,
                 "note: the last %zu bytes were reasoning: a closer inside a code fence was text",
                 note->size);
}

/* Reports an answer that is empty or cut off, which would otherwise look complete. */
static void cli_text_done(struct view *v, const struct split *sp)
{
    if (v->cr)
        cli_add_safely(v, STR("\n"));
    else if (v->cli->terminal && v->line_open)
        file_out_add(&v->cli->out, STR("\n"));
    file_out_flush(&v->cli->out);
    if (file_out_gone(&v->cli->out))
        return;
    if (sp->flags & SPLIT_UNOPENED_CLOSE)
        cli_complain(CLI_OK,
                     "note: the answer has a closing marker and nothing was opened; if the prompt "
                     "opened the reasoning, say --inside");
    if (sp->state == SPLIT_UNCLOSED)
        cli_complain(CLI_OK,
                     "note: the text ended inside reasoning%s",
                     sp->size[SPLIT_ANSWER] == 0 ? "; there is no answer in it" : "");
}

/* ---- the command ---- */

/* Streams of chat APIs are server-sent events, whose bytes are not the text itself. */
static void cli_look_at_front(str piece)
{
    if (str_starts(piece, STR("data: {")) || str_starts(piece, STR("event: ")))
        cli_complain(
            CLI_OK,
            "note: this looks like server-sent events; split reads plain text: give it the "
            "text of the events");
}

bool cli_split_pump(struct cli *cli, struct cli_input *in, struct split *sp, struct err *e)
{
    char *piece = base_alloc(READ_SIZE);
    size_t n = 1;
    bool ok = true, first = true;

    assert(in->fd >= 0);
    while (n > 0 && ok && !cli->out.error) {
        ok = cli_read(in, piece, READ_SIZE, &n, e);
        if (ok && first)
            cli_look_at_front((str){piece, n});
        first = false;
        if (ok)
            split_feed(sp, (str){piece, n});
        file_out_flush(&cli->out);
    }
    free(piece);
    split_finish(sp);
    return ok;
}

static int cli_run_json(struct cli *cli, struct cli_input *in, const struct split_format *format,
                        bool inside)
{
    struct split_collect c;
    struct split sp;
    struct buf line;
    struct json_out o;
    struct err e;
    bool ok;

    assert(format);
    split_collect_init(&c, STR(""), TEXT_SIZE_MAX);
    split_init(&sp, format, inside, split_collect_sink(&c));
    buf_init(&line, TEXT_SIZE_MAX * 8);
    ok = cli_split_pump(cli, in, &sp, &e) && split_collect_ok(&c, &e);
    if (ok) {
        json_out_init_object(&o, &line);
        json_member_str(&o, "format", str_c(sp.format->id));
        cli_write_result(&o, &sp, &c);
        json_out_end(&o);
        buf_add_c(&line, '\n');
        ok = buf_ok(&line, "the result", &e);
    }
    if (ok)
        cli_put_json(cli, buf_str(&line));
    buf_release(&line);
    split_collect_release(&c);
    return ok ? CLI_OK : cli_fail(&e);
}

static int cli_run_live(struct cli *cli, struct cli_input *in, const struct split_format *format,
                        const struct cli_args *args)
{
    str show = str_c(args->value[SHOW] ? args->value[SHOW] : "answer");
    bool both = str_eq(show, STR("both"));
    struct view v = {.cli = cli, .last = -1, .both = both, .labels = both && !cli->color};
    struct split sp;
    struct err e;
    bool ok;

    assert(format);
    v.show[SPLIT_ANSWER] = both || str_eq(show, STR("answer"));
    v.show[SPLIT_REASONING] = both || str_eq(show, STR("reasoning"));
    v.safe = cli->terminal || (both && cli->color);
    split_init(&sp,
               format,
               args->value[INSIDE] != NULL,
               (struct split_sink){cli_text_run, cli_text_note, &v});
    ok = cli_split_pump(cli, in, &sp, &e);
    cli_text_done(&v, &sp);
    return ok ? CLI_OK : cli_fail(&e);
}

static int cli_list_formats(struct cli *cli, bool json)
{
    const struct split_format *f;
    struct json_out o;
    struct buf line;

    buf_init(&line, READ_SIZE);
    json_out_init(&o, &line);
    json_out_array(&o);
    for (size_t i = 0; (f = split_format_at(i)); i++) {
        if (!json)
            file_out_printf(
                &cli->out, "%-17s starts inside: %-7s %s\n", f->id, f->inside, f->families);
        json_out_object(&o);
        json_member_str(&o, "id", str_c(f->id));
        json_member_str(&o, "starts_in_reasoning", str_c(f->inside));
        json_member_str(&o, "families", str_c(f->families));
        json_out_end(&o);
    }
    json_out_end(&o);
    if (json)
        file_out_printf(&cli->out, STR_FMT "\n", STR_ARG(buf_str(&line)));
    buf_release(&line);
    return CLI_OK;
}

static const char *cli_format_id(size_t index)
{
    const struct split_format *f = index ? split_format_at(index - 1) : split_format_auto();

    return f ? f->id : NULL;
}

/* The format that was named, or the pair of markers that was given. */
static const struct split_format *cli_split_choose_format(const struct cli_args *args,
                                                          struct split_pair *pair)
{
    const char *open = args->value[OPEN], *close = args->value[CLOSE], *id = args->value[FORMAT];
    const struct split_format *f;
    struct err e;

    if (!open != !close) {
        cli_complain(CLI_USAGE, "--open and --close go together");
        return NULL;
    }
    if (open && id) {
        cli_complain(CLI_USAGE, "either --format or --open and --close, not both");
        return NULL;
    }
    if (open) {
        if (split_pair_init(pair, str_c(open), str_c(close), &e))
            return &pair->format;
        cli_complain(CLI_USAGE, "%s", e.text);
        return NULL;
    }
    f = split_format_find(str_c(id ? id : "think"));
    if (f)
        return f;
    cli_complain(
        CLI_USAGE,
        "no format \"%s\"%s",
        id,
        cli_guess(str_c(id), cli_format_id, "`rationale split --formats` lists them").text);
    return NULL;
}

/* Rejects options that exclude each other; false after an error message. */
static bool cli_split_check_options(const struct cli_args *args)
{
    static const uint8_t apart[][2] = {
        {JSON, EVENTS},
        {JSON, BATCH},
        {EVENTS, BATCH},
        {SHOW, JSON},
        {SHOW, EVENTS},
        {SHOW, BATCH},
        {FORMATS, EVENTS},
        {FORMATS, BATCH},
    };

    assert(COUNT_OF(options) <= CLI_OPTIONS_MAX);
    for (size_t i = 0; i < COUNT_OF(apart); i++)
        if (args->value[apart[i][0]] && args->value[apart[i][1]]) {
            cli_complain(CLI_USAGE,
                         "either --%s or --%s, not both",
                         options[apart[i][0]].name,
                         options[apart[i][1]].name);
            return false;
        }
    if (args->value[FORMATS] && args->word_count > 0) {
        cli_complain(CLI_USAGE, "--formats reads no file");
        return false;
    }
    return true;
}

static int split_run(struct cli *cli, const struct cli_args *args)
{
    const struct split_format *format;
    struct cli_input in;
    struct split_pair pair;
    struct err e;
    int code;

    if (!cli_split_check_options(args))
        return CLI_USAGE;
    if (args->value[FORMATS])
        return cli_list_formats(cli, args->value[JSON] != NULL);
    format = cli_split_choose_format(args, &pair);
    if (!format)
        return CLI_USAGE;
    if (!cli_open(cli, args, &in, &e))
        return cli_fail(&e);
    if (args->value[BATCH])
        code = cli_split_batch(cli, &in, format, args->value[INSIDE] != NULL);
    else if (args->value[JSON])
        code = cli_run_json(cli, &in, format, args->value[INSIDE] != NULL);
    else if (args->value[EVENTS])
        code = cli_split_events(cli, &in, format, args->value[INSIDE] != NULL);
    else
        code = cli_run_live(cli, &in, format, args);
    cli_close(&in);
    return code;
}

const struct cli_command cli_split = {
    .name = "split",
    .summary = "separate a text's reasoning from its answer, as it arrives",
    .words = "[FILE]",
    .about =
        "Reads FILE, or standard input, and prints the answer as soon as it is certain. The "
        "reasoning, the markers and tool markup are omitted unless requested.\n\n"
        "With --format auto the opening marker at the start of the text selects the format, and "
        "a text that begins without a marker is all answer.\n\n"
        "The text does not show whether it begins inside reasoning, because some prompts open "
        "it. Use --inside if yours does.\n\n"
        "With --batch every line is a case: an object with \"input\" or \"chunks\" (a list, one "
        "string a piece) and, optionally, \"id\", \"format\", \"starts_in_reasoning\", "
        "\"chunk_size\" (cut into pieces of this many bytes) and \"join\" (put between separate "
        "messages). Every line out is a result: \"id\", \"reasoning\", \"content\", "
        "\"tool_calls\", \"state\" (none, complete, unclosed), \"flags\" and \"accounted\" "
        "(bytes of each kind), or \"id\", \"line\" and \"error\". --format and --inside apply to "
        "lines without their own.",
    .examples = "  printf '<think>2 and 2</think>4' | rationale split\n"
                "  rationale split --format auto --show both reply.txt\n"
                "  rationale split --format qwen3 --inside --events < reply.txt\n"
                "  rationale split --open '[plan]' --close '[/plan]' --json reply.txt\n"
                "  rationale split --batch cases.jsonl > results.jsonl\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .word_max = 1,
    .run = split_run,
};
