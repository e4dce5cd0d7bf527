/* call_state_test.c - every legal change of a call's state, and every illegal one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/call/internal.h"
#include "test.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Written by hand, so that no change of the source's table passes unnoticed. */
static const char *const legal[CALL_STATE_COUNT] = {
    [CALL_PLANNED] = "masking connecting failing committing",
    [CALL_MASKING] = "connecting committing",
    [CALL_CONNECTING] = "connecting refused streaming retrying failing committing",
    [CALL_REFUSED] = "connecting retrying committing",
    [CALL_STREAMING] = "connecting cutting repairing lingering retrying committing",
    [CALL_CUTTING] = "connecting streaming retrying committing",
    [CALL_REPAIRING] = "connecting streaming cutting repairing retrying committing",
    [CALL_LINGERING] = "connecting retrying committing",
    [CALL_RETRYING] = "connecting committing",
    [CALL_FAILING] = "committing",
    [CALL_COMMITTING] = "done",
    [CALL_DONE] = "",
};

static bool is_legal(enum call_state from, enum call_state to)
{
    str rest = str_c(legal[from]), name = str_c(call_states[to].name);

    while (rest.n) {
        size_t at = str_find(rest, STR(" "));
        str word = str_slice(rest, 0, at);

        if (str_eq(word, name))
            return true;
        rest = str_slice(rest, at == STR_NONE ? rest.n : at + 1, rest.n);
    }
    return false;
}

/* Enters a state with no I/O pending and without a loop, so there is no timer to clear. */
static void enter(enum call_state from, enum call_state to)
{
    static max_align_t nothing[64]; /* a control call that was not sent */
    size_t size = (sizeof(struct call) + CALL_LINE - 1) / CALL_LINE * CALL_LINE;
    struct call *c = aligned_alloc(CALL_LINE, size);
    struct gateway_loop gl = {0};

    CHECK(c);
    memset(c, 0, sizeof *c);
    c->gl = &gl;
    c->state = from;
    c->control = (struct call_control *)(void *)nothing;
    call_enter_state(c, to);
    CHECK(c->state == to);
    free(c);
}

TEST(each_legal_change_is_made)
{
    for (enum call_state from = 0; from < CALL_STATE_COUNT; from++)
        for (enum call_state to = 0; to < CALL_STATE_COUNT; to++)
            if (is_legal(from, to))
                enter(from, to);
}

static void expect_abort(enum call_state from, enum call_state to)
{
    pid_t child = fork();
    int status = 0;

    CHECK(child >= 0);
    if (child == 0) {
        (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        (void)close(STDERR_FILENO);
        (void)signal(SIGABRT, SIG_DFL);
        enter(from, to);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_F(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT,
            "%s -> %s does not assert",
            call_states[from].name,
            call_states[to].name);
}

TEST(each_other_change_asserts)
{
    for (enum call_state from = 0; from < CALL_STATE_COUNT; from++)
        for (enum call_state to = 0; to < CALL_STATE_COUNT; to++)
            if (!is_legal(from, to))
                expect_abort(from, to);
}

/* All states that the states in `seen` (a bit each) can reach, themselves included. */
static unsigned reachable(unsigned seen)
{
    for (unsigned before = 0; before != seen;) {
        before = seen;
        for (enum call_state to = 0; to < CALL_STATE_COUNT; to++)
            if (call_states[to].from & seen)
                seen |= 1u << to;
    }
    return seen;
}

TEST(each_state_is_reached_and_leads_to_the_end)
{
    CHECK(reachable(1u << CALL_PLANNED) == (1u << CALL_STATE_COUNT) - 1);
    for (enum call_state s = 0; s < CALL_STATE_COUNT; s++)
        CHECK(reachable(1u << s) & 1u << CALL_DONE);
}

TEST(whoever_waits_for_a_provider_takes_all_that_it_does)
{
    for (enum call_state s = 0; s < CALL_STATE_COUNT; s++) {
        const struct call_state_row *row = &call_states[s];

        CHECK(row->name);
        CHECK(!row->on_bytes == !row->on_end);
        CHECK((row->on_head || row->on_bytes) == (row->on_error != NULL));
        CHECK(!(row->on_head && row->on_bytes));
    }
}

/* Thousands of streams may wait for their next event. Allocate a member that few calls need on its
 * first use. If most calls need it, raise the bound and measure with `tools/bench-gateway --parts
 * hold`. */
TEST(a_stream_that_waits_is_small)
{
    CHECK_F(offsetof(struct call, record) <= 3264, "%zu", offsetof(struct call, record));
    CHECK_F(sizeof(struct call_record) <= 1352, "%zu", sizeof(struct call_record));
    CHECK_F(sizeof(struct tokens_counter) <= 256, "%zu", sizeof(struct tokens_counter));
    CHECK_F(offsetof(struct split, own) <= 320, "%zu", offsetof(struct split, own));
}

TEST_MAIN(T(a_stream_that_waits_is_small), T(each_legal_change_is_made),
          T(each_other_change_asserts), T(each_state_is_reached_and_leads_to_the_end),
          T(whoever_waits_for_a_provider_takes_all_that_it_does))
