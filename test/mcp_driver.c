/* mcp_driver.c - our MCP client controlled by lines; test/e2e/mcp_peers_test.py runs it.
 *
 *     mcp_driver stdio PROGRAM [ARGUMENT...]      or      mcp_driver http URL
 *
 *     tools                     {"tools":[{"name":...,"input":...},...]}
 *     call NAME ARGUMENTS       {"is_error":...,"text":...,"structured":...,"parts":[...]}
 *     request METHOD PARAMS     {"result":...}
 *     progress NAME ARGUMENTS   as call, with "progress": the number of progress messages
 *     cancel MS NAME ARGUMENTS  as call, cancelled after so many milliseconds
 *     era                       {"era":"legacy","version":"2025-11-25"}
 *
 * The program prints one line per input line, {"error":...,"code":...} on failure. Environment:
 * RATIONALE_ERA is auto, modern or legacy; TIMEOUT_MS limits a request, CALL_MS a call.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/file.h"
#include "mcp/client.h"
#include "mcp/rpc.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#define LINE_MAX_SIZE (1 << 20)
#define ARENA_MAX ((size_t)256 << 20)

struct driver {
    struct mcp_client *client;
    struct arena arena;
    struct buf out;
    int64_t timeout_ms, call_ms;
    unsigned progress;
    _Atomic bool cancel;
    int64_t cancel_ms;
};

static bool sample(void *ctx, str params, struct buf *result, struct err *e)
{
    (void)ctx;
    (void)params;
    (void)e;
    buf_add(result,
            STR("{\"role\":\"assistant\",\"model\":\"scripted\",\"stopReason\":\"endTurn\","
                "\"content\":{\"type\":\"text\",\"text\":\"sampled by the driver\"}}"));
    return true;
}

static bool elicit(void *ctx, str params, struct buf *result, struct err *e)
{
    (void)ctx;
    return mcp_elicit_defaults(params, result, e);
}

static void on_progress(void *ctx, double progress, double total, str message)
{
    struct driver *d = ctx;

    (void)progress;
    (void)total;
    (void)message;
    d->progress++;
}

static void *cancel_later(void *ctx)
{
    struct driver *d = ctx;

    (void)usleep((useconds_t)d->cancel_ms * 1000);
    atomic_store(&d->cancel, true);
    return NULL;
}

static void put_error(struct driver *d, const struct err *e)
{
    buf_add(&d->out, STR("{\"error\":"));
    (void)json_quote(&d->out, str_c(e->text));
    buf_printf(&d->out, ",\"code\":\"%s\"}", err_name(e->code));
}

static void put_result(struct driver *d, const struct mcp_result *r)
{
    static const char *const kinds[] = {"text", "image", "audio", "link", "resource", "other"};
    struct json_out o;
    struct buf text;

    buf_init(&text, 1 << 20);
    mcp_result_text(r, 20000, &text);
    json_out_init(&o, &d->out);
    json_out_object(&o);
    json_out_key(&o, STR("is_error"));
    json_out_bool(&o, r->is_error);
    json_out_key(&o, STR("progress"));
    json_out_u64(&o, d->progress);
    json_out_key(&o, STR("text"));
    json_out_str(&o, buf_str(&text));
    if (r->structured.n) {
        json_out_key(&o, STR("structured"));
        json_out_raw(&o, r->structured);
    }
    json_out_key(&o, STR("parts"));
    json_out_array(&o);
    for (size_t i = 0; i < r->part_count; i++)
        json_out_str(&o, str_c(kinds[r->parts[i].kind]));
    json_out_end(&o);
    json_out_end(&o);
    buf_release(&text);
}

static bool do_call(struct driver *d, str rest, bool progress, bool cancel, struct err *e)
{
    size_t space = str_find(rest, STR(" "));
    struct mcp_call call = {.tool = str_slice(rest, 0, space),
                            .arguments =
                                space == STR_NONE ? STR("") : str_slice(rest, space + 1, rest.n),
                            .timeout_ms = d->call_ms,
                            .cancel = cancel ? &d->cancel : NULL,
                            .on_progress = progress ? on_progress : NULL,
                            .ctx = d};
    struct mcp_result result;
    pthread_t thread;
    bool ok;

    d->progress = 0;
    atomic_store(&d->cancel, false);
    if (cancel && pthread_create(&thread, NULL, cancel_later, d) != 0)
        return err_set(e, ERR_SYSTEM, "no thread");
    ok = mcp_client_call(d->client, &call, &d->arena, &result, e);
    if (cancel)
        pthread_join(thread, NULL);
    if (ok)
        put_result(d, &result);
    return ok;
}

static bool do_tools(struct driver *d, struct err *e)
{
    struct mcp_tools tools;
    struct json_out o;

    if (!mcp_client_tools(d->client, d->timeout_ms, NULL, &d->arena, &tools, e))
        return false;
    json_out_init(&o, &d->out);
    json_out_object(&o);
    json_out_key(&o, STR("tools"));
    json_out_array(&o);
    for (size_t i = 0; i < tools.n; i++) {
        json_out_object(&o);
        json_out_key(&o, STR("name"));
        json_out_str(&o, tools.at[i].name);
        json_out_key(&o, STR("read_only"));
        json_out_bool(&o, tools.at[i].read_only);
        json_out_key(&o, STR("input"));
        json_out_raw(&o, tools.at[i].input_schema);
        json_out_end(&o);
    }
    json_out_end(&o);
    json_out_end(&o);
    return true;
}

static bool do_line(struct driver *d, str line, struct err *e)
{
    size_t space = str_find(line, STR(" "));
    str verb = str_slice(line, 0, space),
        rest = space == STR_NONE ? STR("") : str_slice(line, space + 1, line.n), result;

    if (str_eq(verb, STR("tools")))
        return do_tools(d, e);
    if (str_eq(verb, STR("call")) || str_eq(verb, STR("progress")))
        return do_call(d, rest, verb.n > 4, false, e);
    if (str_eq(verb, STR("cancel"))) {
        space = str_find(rest, STR(" "));
        d->cancel_ms = strtol(rest.p, NULL, 10);
        return do_call(d, str_slice(rest, space + 1, rest.n), false, true, e);
    }
    if (str_eq(verb, STR("era"))) {
        if (!mcp_client_connect(d->client, d->timeout_ms, e))
            return false;
        buf_printf(&d->out,
                   "{\"era\":\"%s\",\"version\":\"" STR_FMT "\"}",
                   mcp_client_era(d->client) == MCP_ERA_MODERN ? "modern" : "legacy",
                   STR_ARG(mcp_client_version(d->client)));
        return true;
    }
    space = str_find(rest, STR(" "));
    if (!mcp_client_request(d->client,
                            &(struct mcp_client_ask){
                                str_slice(rest, 0, space),
                                space == STR_NONE ? STR("") : str_slice(rest, space + 1, rest.n),
                                d->timeout_ms,
                                NULL},
                            &d->arena,
                            &result,
                            e))
        return false;
    buf_add(&d->out, STR("{\"result\":"));
    buf_add(&d->out, result);
    buf_add_c(&d->out, '}');
    return true;
}

static void serve_lines(struct driver *d)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t n;
    struct err e;

    while ((n = getline(&line, &size, stdin)) > 0) {
        arena_reset(&d->arena);
        buf_reset(&d->out);
        if (!do_line(d, str_trim((str){line, (size_t)n}), &e)) {
            buf_reset(&d->out);
            put_error(d, &e);
        }
        for (size_t i = 0; i < d->out.n; i++)
            if (d->out.p[i] == '\n')
                d->out.p[i] = ' ';
        buf_add_c(&d->out, '\n');
        if (fwrite(d->out.p, 1, d->out.n, stdout) != d->out.n || fflush(stdout) != 0)
            break;
    }
    free(line);
}

int main(int argc, char **argv)
{
    static const char *const roots[] = {"file:///tmp", NULL};
    const char *era = getenv("RATIONALE_ERA"), *timeout = getenv("TIMEOUT_MS"),
               *call = getenv("CALL_MS");
    struct driver d = {.timeout_ms = timeout ? strtol(timeout, NULL, 10) : 60000,
                       .call_ms = call ? strtol(call, NULL, 10) : 60000};
    struct mcp_client_options o = {
        .roots = roots, .sample = sample, .elicit = elicit, .ctx = &d, .url = STR("")};
    extern char **environ;
    struct mcp_io *io;
    struct err e;

    if (argc < 3)
        return 2;
    (void)signal(SIGPIPE, SIG_IGN);
    if (strcmp(argv[1], "http") == 0) {
        o.url = str_c(argv[2]);
    } else {
        o.argv = (const char *const *)(argv + 2);
        o.env = (const char *const *)environ;
    }
    o.era = era && era[0] == 'm'   ? MCP_ERA_MODERN
            : era && era[0] == 'l' ? MCP_ERA_LEGACY
                                   : MCP_ERA_UNKNOWN;
    arena_init(&d.arena, ARENA_MAX);
    buf_init(&d.out, (size_t)64 << 20);
    io = mcp_io_new(NULL, &e);
    if (!io)
        return 1;
    d.client = mcp_client_new(io, &o, &e);
    if (d.client)
        serve_lines(&d);
    mcp_client_free(d.client);
    mcp_io_free(io);
    buf_release(&d.out);
    arena_release(&d.arena);
    return 0;
}
