/* The client over HTTP against servers with broken streams, expiring sessions and unusual headers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/clock.h"
#include "mcp/client.h"
#include "mcp_peer.h"

#define ARENA_MAX ((size_t)64 << 20)
#define WAIT_MS 20000
#define SSE "HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\n\r\n"

static bool has(str text, const char *part)
{
    return str_find(text, str_c(part)) != STR_NONE;
}

static long id_of(str body)
{
    size_t at = str_find(body, STR("\"id\":"));

    return at == STR_NONE ? -1 : strtol(body.p + at + 5, NULL, 10);
}

static void reply_result(int fd, str body, const char *headers, const char *result)
{
    struct buf b;

    buf_init(&b, ARENA_MAX);
    buf_printf(&b, "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":%s}", id_of(body), result);
    peer_reply(fd, 200, headers, buf_str(&b));
    buf_release(&b);
}

/* Answers requests that every legacy server handles; returns false if the test has to answer. */
static bool usual(int fd, str head, str body, const char *session)
{
    if (has(body, "\"initialize\""))
        reply_result(fd, body, session, "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{}}");
    else if (has(body, "notifications/initialized") || str_starts(head, STR("DELETE")))
        peer_reply(fd, 202, "", STR(""));
    else if (has(body, "\"tools/list\""))
        reply_result(fd, body, "", "{\"tools\":[{\"name\":\"t\"}]}");
    else
        return false;
    return true;
}

struct side {
    struct peer peer;
    struct mcp_io *io;
    struct mcp_client *client;
    struct arena arena;
    char url[64];
    struct err e;
};

static void side_init(struct side *s, void (*serve)(struct peer *p, int fd, str head, str body))
{
    struct mcp_client_options o = {.era = MCP_ERA_LEGACY};

    peer_start(&s->peer, serve);
    (void)snprintf(s->url, sizeof s->url, "http://127.0.0.1:%u/mcp", s->peer.port);
    o.url = str_c(s->url);
    arena_init(&s->arena, ARENA_MAX);
    s->io = mcp_io_new(NULL, &s->e);
    CHECK(s->io);
    s->client = mcp_client_new(s->io, &o, &s->e);
    CHECK(s->client);
}

static void side_release(struct side *s)
{
    mcp_client_free(s->client);
    mcp_io_free(s->io);
    arena_release(&s->arena);
    peer_stop(&s->peer);
}

static bool call(struct side *s, struct mcp_result *r)
{
    return mcp_client_call(s->client,
                           &(struct mcp_call){.tool = STR("t"), .timeout_ms = WAIT_MS},
                           &s->arena,
                           r,
                           &s->e);
}

/* ---- a stream that ends in the middle of an event ---- */

static atomic_long cut_id;

static void cut_event(struct peer *p, int fd, str head, str body)
{
    char reply[300];

    (void)p;
    if (usual(fd, head, body, ""))
        return;
    if (has(body, "\"tools/call\"")) {
        atomic_store(&cut_id, id_of(body));
        peer_say(fd,
                 SSE "id: one\nretry: 10\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
                     "message\"}\n\nid: two\ndata: {\"jsonrpc\":\"2.0\",\"id\":");
    } else if (has(head, "Last-Event-ID: one")) {
        (void)snprintf(reply,
                       sizeof reply,
                       SSE "id: two\ndata: {\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":{\"content\":"
                           "[{\"type\":\"text\",\"text\":\"whole\"}]}}\n\n",
                       atomic_load(&cut_id));
        peer_say(fd, reply);
    } else if (has(head, "Last-Event-ID")) {
        peer_say(fd, SSE);
    } else {
        peer_reply(fd, 405, "", STR(""));
    }
}

TEST(an_event_that_is_cut_off_is_asked_for_again)
{
    struct mcp_result r;
    struct side s;

    side_init(&s, cut_event);
    CHECK_F(call(&s, &r), "%s", s.e.text);
    CHECK_STR(r.parts[0].text, "whole");
    side_release(&s);
}

/* ---- a stream of changes that ends repeatedly ---- */

#define STREAMS 26

static atomic_int streams;

static void short_streams(struct peer *p, int fd, str head, str body)
{
    (void)p;
    if (usual(fd, head, body, ""))
        return;
    if (!str_starts(head, STR("GET"))) {
        reply_result(fd, body, "", "{\"content\":[]}");
        return;
    }
    atomic_fetch_add(&streams, 1);
    peer_say(fd,
             SSE "retry: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n");
}

TEST(a_stream_that_has_something_to_say_is_opened_again_without_end)
{
    uint64_t end_ns = clock_deadline_ns(&clock_real, WAIT_MS);
    struct side s;

    side_init(&s, short_streams);
    CHECK(mcp_client_connect(s.client, WAIT_MS, &s.e));
    while (atomic_load(&streams) < STREAMS && clock_mono_ns(&clock_real) < end_ns)
        (void)usleep(10000);
    CHECK(atomic_load(&streams) >= STREAMS);
    side_release(&s);
}

/* ---- long session ids ---- */

static char session[6000];
static atomic_int known, unknown;

static void long_session(struct peer *p, int fd, str head, str body)
{
    (void)p;
    if (!has(body, "\"initialize\""))
        atomic_fetch_add(str_find(head, str_trim(str_c(session))) != STR_NONE ? &known : &unknown,
                         1);
    if (usual(fd, head, body, session))
        return;
    if (has(body, "\"tools/call\""))
        reply_result(fd, body, "", "{\"content\":[]}");
    else
        peer_reply(fd, 405, "", STR(""));
}

static void name_session(size_t size)
{
    struct buf b;

    buf_init(&b, sizeof session);
    buf_add(&b, STR("Mcp-Session-Id: "));
    for (size_t i = 0; i < size; i++)
        buf_add_c(&b, 's');
    buf_add(&b, STR("\r\n"));
    (void)snprintf(session, sizeof session, STR_FMT, STR_ARG(buf_str(&b)));
    buf_release(&b);
}

TEST(a_long_session_id_is_sent_back_and_a_longer_one_refused)
{
    struct mcp_result r;
    struct side s;

    name_session(1500); /* the size of a signed token */
    side_init(&s, long_session);
    CHECK_F(call(&s, &r), "%s", s.e.text);
    CHECK(known > 0 && unknown == 0);
    side_release(&s);
    name_session(5000);
    side_init(&s, long_session);
    CHECK(!call(&s, &r));
    CHECK_F(strstr(s.e.text, "session id"), "%s", s.e.text);
    side_release(&s);
}

TEST_MAIN(T(an_event_that_is_cut_off_is_asked_for_again),
          T(a_stream_that_has_something_to_say_is_opened_again_without_end),
          T(a_long_session_id_is_sent_back_and_a_longer_one_refused))
