/* `rationale split`: one text, as it arrives.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/result.h"
#include "split/collect.h"

#include <errno.h>
#include <unistd.h>

#define TEXT_SIZE_MAX ((size_t)256 << 20)
#define READ_SIZE ((size_t)64 << 10)

enum { FORMAT, INSIDE, OPEN, CLOSE, JSON, EVENTS, SHOW, FORMATS, BATCH };

static const struct cli_option options[] = {
    [FORMAT] = {"format", 'f', "ID", NULL, "the reasoning format (default: think)"},
    [INSIDE] =
        {"inside", 'i', NULL, NULL, "the text begins inside reasoning: the prompt opened it"},
    [OPEN] = {"open", 0, "MARKER", NULL, "a pair of your own instead of a format: what opens"},
    [CLOSE] = {"close", 0, "MARKER", NULL, "and what closes"},
    [JSON] = {"json", 0, NULL, NULL, "one object at the end"},
    [EVENTS] = {"events", 0, NULL, NULL, "one JSON line an event, live"},
    [SHOW] = {"show", 's', "WHAT", "answer reasoning both", "what to print (default: answer)"},
    [FORMATS] = {"formats", 0, NULL, NULL, "list the formats, one a line, and leave"},
    [BATCH] = {"batch", 0, NULL, NULL, "JSON Lines in, one case each; JSON Lines out"},
};

/* One of the three ways to show a text. */
struct view {
    struct cli *cli;
    bool show[SPLIT_KIND_COUNT];
    bool labels; /* say in words which kind it is, where colours cannot */
    int last;    /* the kind shown last, -1 for none */
    bool line_open;
    struct buf scratch;
};

/* ---- text ---- */

/* Model text may hold escapes that a terminal would obey; there they are shown, not sent. */
static void add_safely(struct view *v, str run)
{
    size_t from = 0;

    if (!v->cli->terminal) {
        file_out_add(&v->cli->out, run);
        return;
    }
    for (size_t at = 0, size; at < run.n; at += size) {
        uint32_t code;

        size = utf8_decode(str_slice(run, at, run.n), &code);
        if (size > 0 && (code == '\n' || code == '\t' || !utf8_is_control(code)))
            continue;
        file_out_add(&v->cli->out, str_slice(run, from, at));
        file_out_add(&v->cli->out, STR("\xEF\xBF\xBD"));
        size = size ? size : 1;
        from = at + size;
    }
    file_out_add(&v->cli->out, str_slice(run, from, run.n));
}

static void change_kind(struct view *v, enum split_kind kind)
{
    struct file_out *out = &v->cli->out;

    if (v->last >= 0 && v->line_open)
        file_out_add(out, STR("\n"));
    if (v->labels)
        file_out_printf(out, "[%s]\n", split_kind_name(kind));
    else if (v->last >= 0)
        file_out_add(out, STR("\n"));
    file_out_printf(out, "%s", kind == SPLIT_REASONING ? cli_dim(v->cli) : cli_plain(v->cli));
    v->last = (int)kind;
}

static void text_run(void *ctx, enum split_kind kind, str run)
{
    struct view *v = ctx;

    if (!v->show[kind])
        return;
    if (v->show[SPLIT_REASONING] && v->show[SPLIT_ANSWER] && v->last != (int)kind)
        change_kind(v, kind);
    add_safely(v, run);
    v->line_open = run.p[run.n - 1] != '\n';
}

static void text_note(void *ctx, const struct split_note *note)
{
    struct view *v = ctx;

    if (note->what != SPLIT_RECLASSIFY)
        return;
    file_out_flush(&v->cli->out);
    cli_complain(CLI_OK,
                 "note: the last %zu bytes were reasoning: a closer inside a code fence was text",
                 note->size);
}

/* ---- events ---- */

static void write_line(struct view *v)
{
    buf_add_c(&v->scratch, '\n');
    file_out_add(&v->cli->out, buf_str(&v->scratch));
}

static void begin_event(struct view *v, struct json_out *o, const char *name)
{
    buf_reset(&v->scratch);
    json_out_init(o, &v->scratch);
    json_out_object(o);
    json_out_key(o, STR("event"));
    json_out_str(o, str_c(name));
}

static void event_run(void *ctx, enum split_kind kind, str run)
{
    struct view *v = ctx;
    struct json_out o;

    begin_event(v, &o, split_kind_name(kind));
    json_out_key(&o, STR("text"));
    json_out_str(&o, run);
    json_out_end(&o);
    write_line(v);
}

static void event_note(void *ctx, const struct split_note *note)
{
    static const char *const names[] = {"begin", "end", "ambiguous", "settled", "reclassify"};
    struct view *v = ctx;
    struct json_out o;

    begin_event(v, &o, names[note->what]);
    if (note->what == SPLIT_BEGIN || note->what == SPLIT_END) {
        json_out_key(&o, STR("kind"));
        json_out_str(&o, str_c(split_kind_name(note->kind)));
    }
    if (note->name.n > 0) {
        json_out_key(&o, STR("name"));
        json_out_str(&o, note->name);
    }
    if (note->what == SPLIT_RECLASSIFY) {
        json_out_key(&o, STR("bytes"));
        json_out_u64(&o, note->size);
    }
    json_out_end(&o);
    write_line(v);
}

static void event_done(struct view *v, const struct split *sp)
{
    struct json_out o;

    begin_event(v, &o, "done");
    cli_write_summary(&o, sp, false);
    json_out_end(&o);
    write_line(v);
}

/* ---- the command ---- */

static bool pump(struct cli *cli, int fd, struct split *sp, struct err *e)
{
    char *piece = base_alloc(READ_SIZE);
    bool ok = false;

    for (;;) {
        ssize_t n = read(fd, piece, READ_SIZE);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            err_sys(e, "read");
            break;
        }
        if (n == 0) {
            ok = true;
            break;
        }
        split_feed(sp, (str){piece, (size_t)n});
        file_out_flush(&cli->out);
        if (file_out_gone(&cli->out)) {
            ok = true;
            break;
        }
    }
    free(piece);
    split_finish(sp);
    return ok;
}

static int run_json(struct cli *cli, int fd, const struct split_format *format, bool inside)
{
    struct split_collect c;
    struct split sp;
    struct buf line;
    struct json_out o;
    struct err e;
    bool ok;

    split_collect_init(&c, format, STR(""), TEXT_SIZE_MAX);
    split_init(&sp, format, inside, split_collect_sink(&c));
    buf_init(&line, TEXT_SIZE_MAX * 8);
    ok = pump(cli, fd, &sp, &e) && split_collect_ok(&c, &e);
    if (ok) {
        json_out_init(&o, &line);
        json_out_object(&o);
        json_out_key(&o, STR("format"));
        json_out_str(&o, str_c(format->id));
        cli_write_result(&o, &sp, &c);
        json_out_end(&o);
        buf_add_c(&line, '\n');
        file_out_add(&cli->out, buf_str(&line));
        ok = buf_ok(&line, "the result", &e);
    }
    buf_release(&line);
    split_collect_release(&c);
    return ok ? CLI_OK : cli_fail(&e);
}

static int run_live(struct cli *cli, int fd, const struct split_format *format,
                    const struct cli_args *args)
{
    const char *show = args->value[SHOW] ? args->value[SHOW] : "answer";
    bool events = args->value[EVENTS] != NULL, both = str_eq(str_c(show), STR("both"));
    struct view v = {.cli = cli, .last = -1, .labels = both && !cli->color};
    struct split sp;
    struct err e;
    bool ok;

    v.show[SPLIT_ANSWER] = both || str_eq(str_c(show), STR("answer"));
    v.show[SPLIT_REASONING] = both || !v.show[SPLIT_ANSWER];
    buf_init(&v.scratch, READ_SIZE * 16);
    split_init(&sp,
               format,
               args->value[INSIDE] != NULL,
               events ? (struct split_sink){event_run, event_note, &v}
                      : (struct split_sink){text_run, text_note, &v});
    ok = pump(cli, fd, &sp, &e);
    if (events)
        event_done(&v, &sp);
    else if (v.last == SPLIT_REASONING)
        file_out_printf(&cli->out, "%s", cli_plain(cli));
    if (!events && cli->terminal && v.line_open)
        file_out_add(&cli->out, STR("\n"));
    buf_release(&v.scratch);
    return ok ? CLI_OK : cli_fail(&e);
}

static int list_formats(struct cli *cli)
{
    const struct split_format *f;

    for (size_t i = 0; (f = split_format_at(i)); i++)
        file_out_printf(&cli->out, "%-17s starts inside: %-7s %s\n", f->id, f->inside, f->families);
    return CLI_OK;
}

static const char *format_id(size_t index)
{
    const struct split_format *f = split_format_at(index);

    return f ? f->id : NULL;
}

/* The format that was named, or the pair that was given. */
static const struct split_format *choose(const struct cli_args *args, struct split_pair *pair)
{
    const char *open = args->value[OPEN], *close = args->value[CLOSE], *id = args->value[FORMAT];
    const struct split_format *f;
    const char *near;
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
    near = cli_nearest(str_c(id), format_id);
    cli_complain(CLI_USAGE,
                 "no format \"%s\"%s%s; `rationale split --formats` lists them",
                 id,
                 near ? "; did you mean " : "",
                 near ? near : "");
    return NULL;
}

static int run(struct cli *cli, const struct cli_args *args)
{
    const struct split_format *format;
    struct split_pair pair;
    struct err e;
    int fd, code;

    if (args->value[FORMATS])
        return list_formats(cli);
    format = choose(args, &pair);
    if (!format)
        return CLI_USAGE;
    if (!cli_open(args, &fd, &e))
        return cli_fail(&e);
    if (args->value[BATCH])
        code = cli_split_batch(cli, fd);
    else if (args->value[JSON])
        code = run_json(cli, fd, format, args->value[INSIDE] != NULL);
    else
        code = run_live(cli, fd, format, args);
    if (fd != STDIN_FILENO)
        close(fd);
    return code;
}

const struct cli_command cli_split = {
    .name = "split",
    .summary = "tell a text's reasoning from its answer, as it arrives",
    .words = "[FILE]",
    .about =
        "Reads FILE, or standard input, and prints the answer as soon as it is known to be one. "
        "The reasoning, the markers and tool markup are left out unless asked for.\n\n"
        "Whether a text begins inside reasoning is not in the text: some prompts open it. Say "
        "--inside if yours does.\n\n"
        "With --batch every line is a case: {\"id\", \"format\", \"starts_in_reasoning\", "
        "\"input\" "
        "or \"chunks\", \"chunk_size\", \"join\"}, and every line out its result: {\"id\", "
        "\"reasoning\", \"content\", \"tool_calls\", \"state\", \"flags\", \"accounted\"}.",
    .examples = "  printf '<think>2 and 2</think>4' | rationale split\n"
                "  rationale split --format harmony --show both reply.txt\n"
                "  curl -N ... | rationale split --format qwen3 --inside --events\n"
                "  rationale split --open '[plan]' --close '[/plan]' --json reply.txt\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .word_max = 1,
    .run = run,
};
