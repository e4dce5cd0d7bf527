/* `rationale split --batch`: reads one case per line, and writes one result per line, in the same
 * order.
 *
 * An unreadable line gives a result with an error, so result N always belongs to case N, and the
 * exit code reports errors. Blank lines are skipped.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "cli/result.h"
#include "cli/split.h"

#define LINE_SIZE_MAX ((size_t)256 << 20)
#define READ_SIZE ((size_t)64 << 10)
#define ID_SHOWN_MAX 64 /* bytes of an invalid name that an error quotes */

/* One case, in the arena of its line. */
struct task {
    const struct split_format *format;
    bool inside;
    str input;    /* all chunks joined */
    size_t *cuts; /* the end of each chunk */
    size_t cut_count;
    str join;
    str id; /* unchanged JSON */
};

struct batch {
    struct cli *cli;
    const struct split_format *format; /* the format of cases that name none */
    bool inside;                       /* where a case does not say */
    struct json doc;
    struct arena arena;
    struct buf line; /* the result */
    size_t number;
    bool failed;
};

static bool batch_read_text(struct batch *b, const char *key, str *out, bool *found, struct err *e)
{
    const struct json_node *v = json_find(&b->doc, json_root(&b->doc), str_c(key));

    *found = v && v->kind != JSON_NULL;
    if (*found && !json_text(&b->doc, v, &b->arena, out))
        return err_input(e, "\"%s\" must be a string", key);
    return true;
}

static bool batch_read_chunks(struct batch *b, const struct json_node *list, struct task *t,
                              struct err *e)
{
    struct buf all;
    size_t n = 0;

    if (list->kind != JSON_ARRAY)
        return err_input(e, "\"chunks\" must be a list of strings");
    t->cuts = arena_zero(&b->arena, json_count(&b->doc, list) + 1, sizeof *t->cuts);
    buf_init(&all, LINE_SIZE_MAX);
    JSON_FOREACH(v, &b->doc, list) {
        str piece;

        if (!json_text(&b->doc, v, &b->arena, &piece)) {
            buf_release(&all);
            return err_input(e, "\"chunks\" must be a list of strings");
        }
        buf_add(&all, piece);
        t->cuts[n++] = all.n;
    }
    t->input = arena_dup(&b->arena, buf_str(&all));
    t->cut_count = n;
    buf_release(&all);
    assert_slow(t->cut_count <= json_count(&b->doc, list));
    return true;
}

static bool batch_cut_evenly(struct batch *b, struct task *t, const struct json_node *size,
                             struct err *e)
{
    int64_t n;
    size_t count, step;

    if (!json_i64(&b->doc, size, &n) || n < 1)
        return err_input(e, "\"chunk_size\" must be a whole number of bytes, 1 or more");
    step = (uint64_t)n > t->input.n ? t->input.n + 1 : (size_t)n;
    count = t->input.n / step + 1;
    t->cuts = arena_zero(&b->arena, count, sizeof *t->cuts);
    t->cut_count = count;
    for (size_t i = 0; i < count; i++)
        t->cuts[i] = (i + 1) * step < t->input.n ? (i + 1) * step : t->input.n;
    assert(t->cuts[count - 1] == t->input.n);
    return true;
}

static bool batch_read_input(struct batch *b, struct task *t, struct err *e)
{
    const struct json_node *root = json_root(&b->doc);
    const struct json_node *chunks = json_find(&b->doc, root, STR("chunks"));
    const struct json_node *size = json_find(&b->doc, root, STR("chunk_size"));
    bool found;

    if (!batch_read_text(b, "input", &t->input, &found, e))
        return false;
    if (chunks && chunks->kind != JSON_NULL) {
        if (!batch_read_chunks(b, chunks, t, e))
            return false;
    } else if (!found) {
        return err_input(e, "neither \"input\" nor \"chunks\" is given");
    } else {
        t->cuts = arena_zero(&b->arena, 1, sizeof *t->cuts);
        t->cuts[0] = t->input.n;
        t->cut_count = 1;
    }
    return !size || size->kind == JSON_NULL || batch_cut_evenly(b, t, size, e);
}

static bool batch_read_task(struct batch *b, struct task *t, struct err *e)
{
    const struct json_node *root = json_root(&b->doc), *v;
    str id = STR("");
    bool found;

    if (root->kind != JSON_OBJECT)
        return err_input(e, "a case must be an object");
    v = json_find(&b->doc, root, STR("id"));
    t->id = v ? json_raw(&b->doc, v) : STR("null");
    if (!batch_read_text(b, "join", &t->join, &found, e) ||
        !batch_read_text(b, "format", &id, &found, e))
        return false;
    t->format = found ? split_format_find(id) : b->format;
    if (!t->format)
        return err_input(e,
                         "no format \"" STR_FMT "\"; `rationale split --formats` lists them",
                         STR_ARG(utf8_cut_size(id, ID_SHOWN_MAX)));
    t->inside = b->inside;
    v = json_find(&b->doc, root, STR("starts_in_reasoning"));
    if (v && v->kind != JSON_NULL && !json_bool(v, &t->inside))
        return err_input(e, "\"starts_in_reasoning\" must be true or false");
    return batch_read_input(b, t, e);
}

static bool batch_run_task(const struct task *t, struct json_out *o, struct err *e)
{
    struct split_collect c;
    struct split sp;
    size_t from = 0;
    bool ok;

    split_collect_init(&c, t->join, LINE_SIZE_MAX);
    split_init(&sp, t->format, t->inside, split_collect_sink(&c));
    for (size_t i = 0; i < t->cut_count; i++) {
        assert(t->cuts[i] >= from && t->cuts[i] <= t->input.n);
        split_feed(&sp, str_slice(t->input, from, t->cuts[i]));
        from = t->cuts[i];
    }
    assert(from == t->input.n);
    split_finish(&sp);
    ok = split_collect_ok(&c, e);
    if (ok) {
        json_out_object(o);
        json_member_raw(o, "id", t->id);
        cli_write_result(o, &sp, &c);
        json_out_end(o);
        ok = json_out_ok(o, e);
    }
    split_collect_release(&c);
    return ok;
}

static void batch_write_error(struct batch *b, str id, const struct err *e)
{
    struct json_out o;

    assert(b->number > 0 && e->code != ERR_NONE);
    buf_reset(&b->line);
    json_out_init_object(&o, &b->line);
    json_member_raw(&o, "id", id);
    json_member_u64(&o, "line", b->number);
    json_member_str(&o, "error", str_c(e->text));
    json_out_end(&o);
    cli_complain(CLI_NEGATIVE, "line %zu: %s", b->number, e->text);
    b->failed = true;
}

/* A case is one line, so the line number is removed from an error in its JSON. */
static bool batch_parse_line(struct batch *b, str line, struct err *e)
{
    const str where = STR("line 1, ");
    size_t at;

    if (json_parse(&b->doc, line, e))
        return true;
    at = str_find(str_c(e->text), where);
    if (at != STR_NONE)
        memmove(e->text + at, e->text + at + where.n, strlen(e->text + at + where.n) + 1);
    return false;
}

static void batch_on_line(struct batch *b, str line)
{
    const str mark = STR("\xEF\xBB\xBF"); /* a byte order mark, which some editors write */
    struct task t = {.input = STR(""), .join = STR(""), .id = STR("null")};
    struct json_out o;
    struct err e;

    if (b->number++ == 0 && str_starts(line, mark))
        line = str_slice(line, mark.n, line.n);
    if (str_trim(line).n == 0)
        return;
    buf_reset(&b->line);
    json_out_init(&o, &b->line);
    if (!batch_parse_line(b, line, &e) || !batch_read_task(b, &t, &e) ||
        !batch_run_task(&t, &o, &e))
        batch_write_error(b, t.id, &e);
    buf_add_c(&b->line, '\n');
    cli_put_json(b->cli, buf_str(&b->line));
    arena_reset(&b->arena);
}

/* Processes every complete line of the input; the rest is the start of the next line. */
static void batch_take_lines(struct batch *b, struct buf *in)
{
    str all = buf_str(in);
    size_t from = 0;
    const char *end;

    while (from < all.n && !b->cli->out.error && (end = memchr(all.p + from, '\n', all.n - from))) {
        size_t to = (size_t)(end - all.p);

        batch_on_line(b, str_slice(all, from, to));
        from = to + 1;
    }
    buf_drop(in, from);
    file_out_flush(&b->cli->out);
    assert(from <= all.n);
}

static bool batch_read_lines(struct batch *b, struct cli_input *from, struct err *e)
{
    struct buf in;
    bool ok = false;
    size_t n = 1;

    buf_init(&in, LINE_SIZE_MAX);
    while (n > 0 && !b->cli->out.error) {
        char *room = buf_room(&in, READ_SIZE);

        if (!room) {
            err_set(
                e, ERR_LIMIT, "line %zu is larger than %zu bytes", b->number + 1, LINE_SIZE_MAX);
            goto out;
        }
        if (!cli_read(from, room, READ_SIZE, &n, e))
            goto out;
        buf_wrote(&in, n);
        if (memchr(room, '\n', n))
            batch_take_lines(b, &in);
    }
    if (in.n > 0 && !b->cli->out.error)
        batch_on_line(b, buf_str(&in));
    ok = true;
out:
    buf_release(&in);
    return ok;
}

int cli_split_batch(struct cli *cli, struct cli_input *in, const struct split_format *format,
                    bool inside)
{
    struct batch b = {.cli = cli, .format = format, .inside = inside};
    struct err e;
    bool ok;

    json_init(&b.doc);
    arena_init(&b.arena, LINE_SIZE_MAX * 16);
    buf_init(&b.line, LINE_SIZE_MAX * 8);
    ok = batch_read_lines(&b, in, &e);
    json_release(&b.doc);
    arena_release(&b.arena);
    buf_release(&b.line);
    if (!ok)
        return cli_fail(&e);
    return b.failed ? CLI_NEGATIVE : CLI_OK;
}
