/* mcp_http_test.c - the MCP server over HTTP handles concurrent calls, and each caller gets its own
 * answer.
 *
 * The server runs in a child process. Its tool waits until all callers have arrived, so a server
 * that handles one call at a time would never answer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mcp/server.h"
#include "test.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CALLERS 6
#define WAIT_S 60

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t came = PTHREAD_COND_INITIALIZER;
static unsigned here;
static char names[CALLERS][16];

/* Returns the caller's name when all callers have arrived. */
static void meet(void *ctx, const struct mcp_ask *ask, struct mcp_answer *answer)
{
    struct timespec until;
    int rc = 0;

    (void)ctx;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_S;
    mcp_answer_progress(answer, 1, 2, STR("waiting"));
    pthread_mutex_lock(&lock);
    here++;
    pthread_cond_broadcast(&came);
    while (here % CALLERS && rc == 0)
        rc = pthread_cond_timedwait(&came, &lock, &until);
    pthread_mutex_unlock(&lock);
    if (rc != 0)
        mcp_answer_fail(answer, "nobody else came");
    else
        mcp_answer_text(answer, str_c(ask->who));
}

static void quick(void *ctx, const struct mcp_ask *ask, struct mcp_answer *answer)
{
    (void)ctx;
    mcp_answer_text(answer, str_c(ask->who));
}

#define FLOOD_MESSAGES 48

/* Sends 48 MiB of progress, then answers. */
static void flood(void *ctx, const struct mcp_ask *ask, struct mcp_answer *answer)
{
    size_t size = (size_t)1 << 20;
    char *text = malloc(size);

    (void)ctx;
    (void)ask;
    CHECK(text);
    memset(text, 'x', size);
    for (int i = 1; i <= FLOOD_MESSAGES; i++)
        mcp_answer_progress(answer, i, FLOOD_MESSAGES, (str){text, size});
    free(text);
    mcp_answer_text(answer, STR("flooded"));
    pthread_mutex_lock(&lock);
    here++;
    pthread_cond_broadcast(&came);
    pthread_mutex_unlock(&lock);
}

/* Answers after a flood has ended. */
static void dry(void *ctx, const struct mcp_ask *ask, struct mcp_answer *answer)
{
    (void)ctx;
    pthread_mutex_lock(&lock);
    while (!here)
        pthread_cond_wait(&came, &lock);
    pthread_mutex_unlock(&lock);
    mcp_answer_text(answer, str_c(ask->who));
}

static _Atomic bool *opened; /* shared with the child */

/* Answers after the test has opened the gate. */
static void gate(void *ctx, const struct mcp_ask *ask, struct mcp_answer *answer)
{
    (void)ctx;
    mcp_answer_progress(answer, 1, 2, STR("waiting"));
    while (!atomic_load(opened))
        (void)usleep(10000);
    mcp_answer_text(answer, str_c(ask->who));
}

static const struct mcp_tool tools[] = {
    {.name = "gate", .title = "Gate", .description = "Waits for the test.", .run = gate},
    {.name = "flood", .title = "Flood", .description = "Sends much.", .run = flood},
    {.name = "dry", .title = "Dry", .description = "Waits for a flood.", .run = dry},
    {.name = "meet", .title = "Meet", .description = "Waits for the others.", .run = meet},
    {.name = "quick", .title = "Quick", .description = "Says who asks.", .run = quick},
    {.name = "marked",
     .input = "{\"type\":\"object\",\"properties\":{\"region\":{\"type\":\"string\","
              "\"x-mcp-header\":\"Region\"},\"count\":{\"type\":\"integer\",\"x-mcp-header\":"
              "\"Count\"}}}",
     .run = quick}};
static const struct mcp_set set = {.tools = tools, .tool_count = COUNT_OF(tools)};

static bool allowed(void *ctx, str token, const void **who)
{
    (void)ctx;
    for (size_t i = 0; i < CALLERS; i++)
        if (str_eq(token, str_c(names[i]))) {
            *who = names[i];
            return true;
        }
    return false;
}

static void on_ready(void *ctx, str address)
{
    int *pipe_in = ctx;

    if (write(*pipe_in, address.p, address.n) != (ssize_t)address.n)
        _exit(3);
    close(*pipe_in);
}

static pid_t child;
static unsigned short port;

static int setup(void **state)
{
    char address[96] = "";
    int fds[2];
    ssize_t n;

    (void)state;
    for (size_t i = 0; i < CALLERS; i++)
        (void)snprintf(names[i], sizeof names[i], "caller-%zu", i);
    opened = mmap(NULL, sizeof *opened, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(opened != MAP_FAILED && pipe(fds) == 0);
    child = fork();
    if (child == 0) {
        struct mcp_http_options http = {
            .listen = "127.0.0.1:0", .allowed = allowed, .on_ready = on_ready, .ctx = &fds[1]};
        struct mcp_server *s;
        struct err e;

        close(fds[0]);
        s = mcp_server_new(&(struct mcp_server_options){.sets = {&set}}, &e);
        if (!s || !mcp_serve_http(s, &http, &e))
            _exit(1);
        mcp_server_free(s);
        _exit(0);
    }
    close(fds[1]);
    n = read(fds[0], address, sizeof address - 1);
    close(fds[0]);
    CHECK(n > 0 && strrchr(address, ':'));
    port = (unsigned short)strtoul(strrchr(address, ':') + 1, NULL, 10);
    return 0;
}

static int teardown(void **state)
{
    int status;

    (void)state;
    CHECK(kill(child, SIGTERM) == 0);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(munmap(opened, sizeof *opened) == 0);
    return 0;
}

static int call(size_t who, const char *tool)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    char body[600], request[1400];
    int fd = socket(AF_INET, SOCK_STREAM, 0), n;

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    n = snprintf(body,
                 sizeof body,
                 "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"tools/call\",\"params\":{\"name\":"
                 "\"%s\",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                 "\"io.modelcontextprotocol/clientCapabilities\":{},\"progressToken\":%zu}}}",
                 who,
                 tool,
                 who);
    n = snprintf(request,
                 sizeof request,
                 "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
                 "connection: close\r\nauthorization: Bearer %s\r\nmcp-protocol-version: "
                 "2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: %s\r\ncontent-length: %d\r\n"
                 "\r\n%s",
                 names[who],
                 tool,
                 n,
                 body);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
    CHECK(write(fd, request, (size_t)n) == n);
    return fd;
}

static void check_reply(int fd, size_t who)
{
    char text[8192], id[32];
    size_t n = 0;
    ssize_t got;

    while (n < sizeof text - 1 && (got = read(fd, text + n, sizeof text - 1 - n)) > 0)
        n += (size_t)got;
    text[n] = 0;
    (void)snprintf(id, sizeof id, "\"id\":%zu,", who);
    CHECK_F(strstr(text, names[who]) && strstr(text, id), "%s", text);
    for (size_t i = 0; i < CALLERS; i++)
        CHECK_F(i == who || !strstr(text, names[i]), "%s", text);
    close(fd);
}

TEST(several_calls_run_at_once_and_each_knows_who_asks)
{
    int fds[CALLERS];

    for (int round = 0; round < 5; round++) {
        for (size_t i = 0; i < CALLERS; i++)
            fds[i] = call(i, "meet");
        for (size_t i = 0; i < CALLERS; i++)
            check_reply(fds[i], i);
    }
}

TEST(others_are_answered_while_a_call_waits)
{
    int waits = call(0, "meet"), fds[CALLERS - 1];

    for (size_t i = 1; i < CALLERS; i++)
        check_reply(call(i, "quick"), i);
    for (size_t i = 1; i < CALLERS; i++)
        fds[i - 1] = call(i, "meet");
    check_reply(waits, 0);
    for (size_t i = 1; i < CALLERS; i++)
        check_reply(fds[i - 1], i);
}

TEST(who_leaves_before_the_answer_disturbs_nobody)
{
    int gone = call(0, "meet"), fds[CALLERS - 1];
    char byte;

    CHECK(read(gone, &byte, 1) == 1); /* a first byte means progress: the call runs */
    close(gone);
    check_reply(call(1, "quick"), 1);
    for (size_t i = 1; i < CALLERS; i++)
        fds[i - 1] = call(i, "meet");
    for (size_t i = 1; i < CALLERS; i++)
        check_reply(fds[i - 1], i);
}

TEST(the_stream_of_a_client_that_does_not_read_is_closed)
{
    int fd = call(0, "flood");
    size_t total = 0, size = (size_t)1 << 20;
    char *bytes = malloc(size);
    ssize_t got;

    CHECK(bytes);
    check_reply(call(1, "dry"), 1);
    while ((got = read(fd, bytes, size)) > 0)
        total += (size_t)got;
    free(bytes);
    close(fd);
    CHECK_F(total < (size_t)24 << 20, "%zu bytes were buffered", total);
    check_reply(call(1, "quick"), 1);
}

/* POSTs a body with additional header lines; returns the whole reply. */
static void post(size_t who, const char *lines, const char *body, char reply[8192])
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), size;
    char request[4096];
    size_t n = 0;
    ssize_t got;

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    size = snprintf(request,
                    sizeof request,
                    "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
                    "connection: close\r\nauthorization: Bearer %s\r\n%scontent-length: %zu\r\n"
                    "\r\n%s",
                    names[who],
                    lines,
                    strlen(body),
                    body);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
    CHECK(write(fd, request, (size_t)size) == size);
    while (n < 8191 && (got = read(fd, reply + n, 8191 - n)) > 0)
        n += (size_t)got;
    reply[n] = 0;
    close(fd);
}

TEST(a_header_that_differs_from_its_argument_is_refused)
{
    static const struct {
        const char *headers, *arguments;
        bool ok;
    } cases[] = {
        {"mcp-param-region: eu\r\n", "{\"region\":\"eu\"}", true},
        {"mcp-param-region: us\r\n", "{\"region\":\"eu\"}", false},
        {"mcp-param-region: 0\r\n", "{\"region\":\"eu\"}", false},
        {"mcp-param-region: 0x0\r\n", "{\"region\":\"eu\"}", false},
        {"mcp-param-region: 42.0\r\n", "{\"region\":\"42\"}", false},
        {"", "{\"region\":\"eu\"}", false},
        {"mcp-param-count: 42\r\n", "{\"count\":42}", true},
        {"mcp-param-count: 42.0\r\n", "{\"count\":42}", true},
        {"mcp-param-count: 0x2A\r\n", "{\"count\":42}", false},
        {"mcp-param-count: 43\r\n", "{\"count\":42}", false},
        {"mcp-param-count: 9007199254740993\r\n", "{\"count\":9007199254740992}", false},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char lines[300], body[600], reply[8192];

        (void)snprintf(lines,
                       sizeof lines,
                       "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\n"
                       "mcp-name: marked\r\n%s",
                       cases[i].headers);
        (void)snprintf(body,
                       sizeof body,
                       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
                       "\"name\":\"marked\",\"arguments\":%s,\"_meta\":{"
                       "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                       "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
                       cases[i].arguments);
        post(0, lines, body, reply);
        CHECK_F((strstr(reply, "-32020") == NULL) == cases[i].ok,
                "%s%s: %s",
                cases[i].headers,
                cases[i].arguments,
                reply);
    }
}

/* Starts a session; returns its header line. */
static void begin_session(char line[200])
{
    char reply[8192];
    const char *id;

    post(0,
         "",
         "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
         "\"2025-06-18\",\"capabilities\":{}}}",
         reply);
    id = strcasestr(reply, "mcp-session-id: ");
    CHECK_F(id, "%s", reply);
    (void)snprintf(line, 200, "%.*s\r\n", (int)strcspn(id, "\r"), id);
}

TEST(a_session_belongs_to_the_caller_who_began_it)
{
    static const char ping[] = "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}";
    char reply[8192], line[200];

    begin_session(line);
    post(0, line, ping, reply);
    CHECK_F(strstr(reply, " 200 "), "%s", reply);
    post(1, line, ping, reply);
    CHECK_F(strstr(reply, " 404 "), "%s", reply);
}

static int call_in_session(const char *line, const char *tool, const char *meta)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), n;
    char body[300], request[1000];

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    n = snprintf(body,
                 sizeof body,
                 "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"tools/call\",\"params\":{\"name\":"
                 "\"%s\"%s}}",
                 tool,
                 meta);
    n = snprintf(request,
                 sizeof request,
                 "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
                 "connection: close\r\nauthorization: Bearer %s\r\n%scontent-length: %d\r\n\r\n%s",
                 names[0],
                 line,
                 n,
                 body);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
    CHECK(setsockopt(fd,
                     SOL_SOCKET,
                     SO_RCVTIMEO,
                     &(struct timeval){WAIT_S / 2, 0},
                     sizeof(struct timeval)) == 0);
    CHECK(write(fd, request, (size_t)n) == n);
    return fd;
}

#define CANCEL_A                                                                                   \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"                                             \
    "cancelled\",\"params\":{\"requestId\":\"a\"}}"
#define THREADS 8 /* of the server's tools */

TEST(a_call_that_is_cancelled_while_it_waits_for_a_thread_does_not_run)
{
    char reply[8192], line[200], byte;
    int busy[THREADS], fds[CALLERS], fd;

    begin_session(line);
    for (size_t i = 0; i < THREADS; i++) {
        busy[i] = call(i % CALLERS, "gate");
        CHECK(recv(busy[i], &byte, 1, MSG_PEEK) == 1); /* progress: it occupies a thread */
    }
    fd = call_in_session(line, "meet", "");
    for (int n = 0; n < WAIT_S; n++) { /* retried: too early, it has no effect */
        post(0, line, CANCEL_A, reply);
        if (poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 1000) != 0)
            break;
    }
    close(fd);
    atomic_store(opened, true);
    for (size_t i = 0; i < THREADS; i++)
        check_reply(busy[i], i % CALLERS);
    for (size_t i = 0; i < CALLERS; i++) /* would fail if the cancelled call had also run */
        fds[i] = call(i, "meet");
    for (size_t i = 0; i < CALLERS; i++)
        check_reply(fds[i], i);
}

TEST(a_cancelled_call_gets_no_response_and_its_stream_is_closed)
{
    static const char *const metas[] = {"", ",\"_meta\":{\"progressToken\":7}"};
    char reply[8192], line[200], text[4096];

    begin_session(line);
    for (size_t i = 0; i < COUNT_OF(metas); i++) {
        int fd = call_in_session(line, "gate", metas[i]);
        size_t n = 0;
        ssize_t got;

        if (i)
            CHECK(recv(fd, text, 1, MSG_PEEK) == 1); /* progress: the call runs */
        /* A cancel that the server reads before the call has no effect, so it is repeated. */
        do {
            post(0, line, CANCEL_A, reply);
            CHECK_F(strstr(reply, " 202 "), "%s", reply);
        } while (poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 1000) == 0 && ++n < WAIT_S);
        n = 0;
        while (n < sizeof text - 1 && (got = read(fd, text + n, sizeof text - 1 - n)) > 0)
            n += (size_t)got;
        CHECK(got == 0);
        text[n] = 0;
        CHECK_F(strstr(text, "text/event-stream") && strstr(text, "\r\n0\r\n\r\n"), "%s", text);
        CHECK_F(!strstr(text, "\"id\":\"a\""), "%s", text);
        close(fd);
    }
    atomic_store(opened, true); /* lets the tools end */
    check_reply(call(1, "quick"), 1);
}

#define S(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        S(several_calls_run_at_once_and_each_knows_who_asks),
        S(others_are_answered_while_a_call_waits),
        S(who_leaves_before_the_answer_disturbs_nobody),
        S(the_stream_of_a_client_that_does_not_read_is_closed),
        S(a_header_that_differs_from_its_argument_is_refused),
        S(a_session_belongs_to_the_caller_who_began_it),
        S(a_call_that_is_cancelled_while_it_waits_for_a_thread_does_not_run),
        S(a_cancelled_call_gets_no_response_and_its_stream_is_closed)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
