/* server_stdio.c - the server on stdin and stdout: one message per line, both eras at once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mcp/serving.h"
#include "net/frames.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#define READ_SIZE 65536

struct stdio {
    struct mcp_channel channel; /* first: the core knows only this */
    struct mcp_server *server;
    struct mcp_session *session;
    bool begun; /* initialize came */
    int out;
    int error; /* the errno that ended writing, or 0 */
    struct json doc;
    struct arena arena;
};

static void mcp_server_stdio_put(struct mcp_channel *c, str json)
{
    struct stdio *io = (struct stdio *)c;
    struct buf line;

    assert(json.n > 0);
    buf_init(&line, 4 * MCP_MESSAGE_MAX);
    buf_add(&line, json);
    buf_add_c(&line, '\n');
    for (size_t at = 0; at < line.n && !io->error;) {
        ssize_t n = write(io->out, line.p + at, line.n - at);

        if (n >= 0)
            at += (size_t)n;
        else if (errno == EAGAIN)
            (void)poll(&(struct pollfd){.fd = io->out, .events = POLLOUT}, 1, -1);
        else if (errno != EINTR)
            io->error = errno;
    }
    buf_release(&line);
}

static void mcp_server_stdio_end(struct mcp_channel *c, int status, str json)
{
    (void)status;
    mcp_server_stdio_put(c, json);
}

static void mcp_server_stdio_end_cancelled(struct mcp_channel *c)
{
    (void)c; /* all requests share the pipe */
}

static void mcp_server_stdio_refuse(struct stdio *io, const struct mcp_fault *fault)
{
    struct buf out;

    buf_init(&out, MCP_MESSAGE_MAX);
    mcp_emit_fault(&out, fault);
    mcp_server_stdio_put(&io->channel, buf_str(&out));
    buf_release(&out);
}

static void mcp_take_request(struct stdio *io, const struct mcp_message *m)
{
    bool legacy = !mcp_is_modern(&io->doc, m) && !str_eq(m->method, STR("server/discover"));

    assert(m->kind == MCP_REQUEST);
    if (legacy && str_eq(m->method, STR("initialize"))) {
        io->begun = true;
        io->session->stream = &io->channel; /* for notifications of changes */
    }
    if (legacy && !io->begun && !str_eq(m->method, STR("ping"))) {
        struct mcp_fault fault = {.code = MCP_INVALID_REQUEST, .id = m->id};

        err_input(&fault.why, "begin with initialize, or give _meta");
        mcp_server_stdio_refuse(io, &fault);
        return;
    }
    mcp_take(io->server, legacy ? io->session : NULL, &io->doc, m, &io->channel);
}

static void mcp_server_stdio_on_line(void *ctx, const struct frames_frame *frame)
{
    struct stdio *io = ctx;
    struct mcp_message m;
    struct mcp_fault fault;

    if (str_trim(frame->data).n == 0)
        return;
    arena_reset(&io->arena);
    if (!mcp_read(&io->doc, frame->data, &io->arena, &m, &fault)) {
        mcp_server_stdio_refuse(io, &fault);
    } else if (m.kind == MCP_REQUEST) {
        mcp_take_request(io, &m);
    } else {
        mcp_hear(io->server, io->session, &io->doc, &m);
        if (m.kind == MCP_NOTIFICATION) /* the cancelled request may be of either era */
            mcp_hear(io->server, NULL, &io->doc, &m);
    }
}

static bool mcp_server_stdio_pump(struct stdio *io, int in, struct frames *f, struct err *e)
{
    char *bytes = base_alloc(READ_SIZE);
    bool ok = true;

    for (;;) {
        ssize_t n = read(in, bytes, READ_SIZE);

        if (n < 0 && errno == EAGAIN) {
            (void)poll(&(struct pollfd){.fd = in, .events = POLLIN}, 1, -1);
            continue;
        }
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            ok = err_sys(e, "standard input");
        if (n <= 0)
            break;
        frames_feed(f, (str){bytes, (size_t)n});
        if (f->full) {
            ok = err_set(e, ERR_LIMIT, "a message is larger than %zu bytes", MCP_MESSAGE_MAX);
            break;
        }
        if (io->error)
            break; /* the reader closed its end */
    }
    if (ok && !io->error)
        frames_finish(f);
    free(bytes);
    return ok;
}

bool mcp_serve_stdio(struct mcp_server *s, int in, int out, struct err *e)
{
    struct stdio io = {.channel = {mcp_server_stdio_put,
                                   mcp_server_stdio_end,
                                   mcp_server_stdio_end_cancelled,
                                   NULL},
                       .server = s,
                       .out = out};
    struct frames f;
    bool ok;

    io.session = mcp_session_new(s, NULL);
    assert(io.session);
    json_init(&io.doc);
    arena_init(&io.arena, 4 * MCP_MESSAGE_MAX);
    frames_init(
        &f, FRAMES_LINES, MCP_MESSAGE_MAX, (struct frames_sink){mcp_server_stdio_on_line, &io});
    ok = mcp_server_stdio_pump(&io, in, &f, e);
    mcp_gone(s, &io.channel);
    mcp_session_end(s, io.session);
    frames_release(&f);
    json_release(&io.doc);
    arena_release(&io.arena);
    return ok;
}
