/* `rationale split --events`: the splitter's events as they happen, one JSON object on each line.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/result.h"
#include "cli/split.h"

#define LINE_SIZE_MAX ((size_t)1 << 20)
#define TOOL_SIZE_MAX ((size_t)64 << 20) /* bytes of markup kept of one block, to read its calls */

struct events {
    struct cli *cli;
    struct buf line;
    struct split_reader tools;
};

static void cli_events_begin(struct events *v, struct json_out *o, const char *name)
{
    assert(name);
    buf_reset(&v->line);
    json_out_init_object(o, &v->line);
    json_member_str(o, "event", str_c(name));
}

static void events_end(struct events *v, struct json_out *o)
{
    json_out_end(o);
    buf_add_c(&v->line, '\n');
    cli_put_json(v->cli, buf_str(&v->line));
}

static void events_on_run(void *ctx, enum split_kind kind, str run)
{
    struct events *v = ctx;
    struct json_out o;

    cli_events_begin(v, &o, split_kind_name(kind));
    json_member_str(&o, "text", run);
    events_end(v, &o);
    split_reader_run(&v->tools, kind, run);
}

static void events_on_call(void *ctx, const struct split_call *call)
{
    struct events *v = ctx;
    struct json_out o;

    cli_events_begin(v, &o, "call");
    json_member_str(&o, "name", call->name);
    json_member_str(&o, "arguments", call->arguments);
    events_end(v, &o);
}

static void events_on_note(void *ctx, const struct split_note *note)
{
    static const char *const names[] = {"begin", "end", "ambiguous", "settled", "reclassify"};
    struct events *v = ctx;
    struct json_out o;

    assert((size_t)note->what < COUNT_OF(names));
    cli_events_begin(v, &o, names[note->what]);
    if (note->what == SPLIT_BEGIN || note->what == SPLIT_END)
        json_member_str(&o, "kind", str_c(split_kind_name(note->kind)));
    if (note->name.n > 0)
        json_member_str(&o, "name", note->name);
    if (note->what == SPLIT_RECLASSIFY)
        json_member_u64(&o, "bytes", note->size);
    events_end(v, &o);
    split_reader_note(&v->tools, note);
}

int cli_split_events(struct cli *cli, struct cli_input *in, const struct split_format *format,
                     bool inside)
{
    struct events v = {.cli = cli};
    struct json_out o;
    struct split sp;
    struct err e;
    bool ok;

    buf_init(&v.line, LINE_SIZE_MAX + TOOL_SIZE_MAX * 8);
    split_reader_init(&v.tools, TOOL_SIZE_MAX, (struct split_call_sink){events_on_call, &v});
    split_init(&sp, format, inside, (struct split_sink){events_on_run, events_on_note, &v});
    ok = cli_split_pump(cli, in, &sp, &e);
    if (ok) {
        cli_events_begin(&v, &o, "done");
        cli_write_summary(&o, &sp, v.tools.unread);
        events_end(&v, &o);
    }
    split_reader_release(&v.tools);
    buf_release(&v.line);
    return ok ? CLI_OK : cli_fail(&e);
}
