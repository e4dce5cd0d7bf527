/* http_tool.c - see http_tool.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agents/http_tool.h"

#include "base/utf8.h"

#define TARGET_MAX ((size_t)64 << 10)
#define HEADERS_MAX ((size_t)64 << 10)
#define BODY_MAX ((size_t)16 << 20)
#define SHOWN_MAX 120
#define MARGIN_MS 250 /* the tool's own timeout comes before that of the toolbox */

struct http_tool_request {
    struct buf url, headers, body;
};

static bool http_tool_takes_body(str method)
{
    return str_eq(method, STR("POST")) || str_eq(method, STR("PUT")) ||
           str_eq(method, STR("PATCH"));
}

/* The next line of ready headers, including its line end, and the name of the header. */
static str http_tool_next_header(str *lines, str *name)
{
    size_t end = str_find(*lines, STR("\n"));
    str line = str_slice(*lines, 0, end == STR_NONE ? lines->n : end + 1);

    *name = str_slice(line, 0, str_find(line, STR(":")));
    *lines = str_slice(*lines, line.n, lines->n);
    return line;
}

static bool http_tool_sets(str configured, str wanted)
{
    str name;

    while (configured.n) {
        (void)http_tool_next_header(&configured, &name);
        if (http1_same(name, wanted))
            return true;
    }
    return false;
}

/* Drops a header of the model if the configuration sets it. */
static void http_tool_drop_configured(struct buf *headers, str configured)
{
    str lines = buf_str(headers), name;
    size_t kept = 0;

    while (lines.n) {
        str line = http_tool_next_header(&lines, &name);

        if (http_tool_sets(configured, name))
            continue;
        memmove(headers->p + kept, line.p, line.n);
        kept += line.n;
    }
    assert(kept <= headers->n);
    headers->n = kept;
}

/* The base URL without its last slash, and the path of the operation. */
static bool http_tool_operation(const struct http_tool *t, const struct tool_call *call,
                                struct http_tool_request *q, struct err *e)
{
    str base = t->source->url;

    assert(t->operation);
    while (base.n && base.p[base.n - 1] == '/')
        base.n--;
    buf_add(&q->url, base);
    if (!openapi_request(t->operation, call->arguments, &q->url, &q->headers, &q->body, e))
        return false;
    http_tool_drop_configured(&q->headers, secret_reveal(&t->source->headers));
    return true;
}

static bool http_tool_plain(const struct http_tool *t, const struct tool_call *call,
                            struct http_tool_request *q, struct err *e)
{
    str url = t->source->url;

    assert(!t->operation);
    buf_add(&q->url, url);
    if (!http_tool_takes_body(t->source->method))
        return openapi_query(call->arguments, str_find(url, STR("?")) != STR_NONE, &q->url, e);
    buf_add(&q->body, call->arguments.n ? call->arguments : STR("{}"));
    return buf_ok(&q->body, "the body", e);
}

static bool http_tool_read_only(const struct http_tool *t)
{
    return t->operation ? t->operation->read_only : t->source->read_only;
}

static bool http_tool_write(const struct http_tool *t, const struct tool_call *call,
                            struct http_tool_request *q, struct err *e)
{
    bool ok = t->operation ? http_tool_operation(t, call, q, e) : http_tool_plain(t, call, q, e);

    if (!ok)
        return false;
    buf_add(&q->headers, STR("Accept: application/json, text/*;q=0.9, */*;q=0.5\r\n"));
    if (q->body.n)
        buf_add(&q->headers, STR("Content-Type: application/json\r\n"));
    if (!http_tool_read_only(t) && call->key.n)
        buf_printf(&q->headers, "Idempotency-Key: " STR_FMT "\r\n", STR_ARG(call->key));
    buf_add(&q->headers, secret_reveal(&t->source->headers));
    return buf_ok(&q->headers, "the headers", e);
}

/* ---- the reply ---- */

static bool http_tool_redirect(const struct mcp_fetch_event *head, struct err *e)
{
    return err_set(e,
                   ERR_NOT_FOUND,
                   "the service answers with a redirect (status %d) to " STR_FMT
                   ", which is not followed",
                   head->status,
                   STR_ARG(str_slice(head->location, 0, SHOWN_MAX)));
}

static void http_tool_add_text(str data, str type, struct buf *out)
{
    str front = utf8_cut_size(data, HTTP_TOOL_RESULT_MAX);

    assert(front.n <= data.n);
    if (!utf8_valid(front)) {
        buf_printf(out,
                   "[%zu bytes of " STR_FMT ", which are no text]",
                   data.n,
                   STR_ARG(type.n ? str_slice(type, 0, SHOWN_MAX) : STR("unknown type")));
        return;
    }
    buf_add(out, front);
    if (front.n < data.n)
        buf_printf(out, "\n[cut: %zu of %zu bytes are kept]", front.n, data.n);
}

static bool http_tool_read(struct mcp_fetch *f, uint64_t deadline_ns, const _Atomic bool *cancel,
                           struct buf *out, struct err *e)
{
    struct mcp_fetch_event head = {.status = 0}, event;
    char type[SHOWN_MAX] = "";

    for (;;) {
        if (!mcp_fetch_next(f, deadline_ns, cancel, &event, e))
            return false;
        if (event.what == MCP_FETCH_END)
            break;
        if (event.what == MCP_FETCH_HEAD) {
            head = event;
            (void)snprintf(type, sizeof type, STR_FMT, STR_ARG(event.content_type));
            if (head.status >= 300 && head.status < 400)
                return http_tool_redirect(&head, e);
            if (head.status < 200 || head.status > 299)
                buf_printf(out, "The service answers with status %d:\n", head.status);
            continue;
        }
        if (out->n < HTTP_TOOL_RESULT_MAX)
            http_tool_add_text(event.data, str_c(type), out);
        if (head.stream)
            buf_add_c(out, '\n');
    }
    if (out->n == 0)
        buf_printf(out, "The service answers with status %d and no text.", head.status);
    return true;
}

bool http_tool_run(void *ctx, const struct tool_call *call, struct buf *out, struct err *e)
{
    const struct http_tool *t = ctx;
    struct http_tool_request q;
    uint64_t now = clock_mono_ns(&clock_real), margin = MARGIN_MS * UINT64_C(1000000),
             deadline = clock_deadline_ns(&clock_real, (int64_t)t->source->timeout_ms);
    struct mcp_fetch *f;
    bool ok;

    assert(t->io && t->source);
    if (call->deadline_ns > now + 2 * margin && deadline > call->deadline_ns - margin)
        deadline = call->deadline_ns - margin;
    buf_init(&q.url, TARGET_MAX);
    buf_init(&q.headers, HEADERS_MAX);
    buf_init(&q.body, BODY_MAX);
    ok = http_tool_write(t, call, &q, e);
    f = ok ? mcp_fetch_start(t->io,
                             &(struct mcp_fetch_request){
                                 .method = t->operation ? t->operation->method : t->source->method,
                                 .url = buf_str(&q.url),
                                 .headers = buf_str(&q.headers),
                                 .body = buf_str(&q.body),
                                 .once = !http_tool_read_only(t) &&
                                         !(t->operation && t->operation->idempotent)},
                             e)
           : NULL;
    ok = f && http_tool_read(f, deadline, call->cancel, out, e);
    if (f)
        mcp_fetch_free(f);
    if (q.headers.n)
        secret_wipe(q.headers.p, q.headers.n);
    buf_release(&q.url);
    buf_release(&q.headers);
    buf_release(&q.body);
    return ok || err_prefix(e, "the tool " STR_FMT ": ", STR_ARG(t->source->name));
}
