/* Measures the time that the live view adds to each piece of a reply, without and with viewers.
 *
 *     live_bench
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "live/hub.h"

#define PIECES 2000000u
#define PIECE " token"

static size_t messages;

static void on_send(void *ctx, const struct hub_message *m)
{
    (void)ctx;
    messages += hub_message_json(m).n > 0;
}

static bool on_full(void *ctx)
{
    (void)ctx;
    return false;
}

static void stop(void *ctx)
{
    loop_stop(ctx);
}

static void turn(struct loop *l)
{
    struct loop_task task;

    loop_task_init(&task, stop, l);
    loop_defer(l, &task);
    loop_run(l);
}

static const struct hub_begin call_begin = {.id = STR_INIT("1"),
                                            .session = STR_INIT("s"),
                                            .key = STR_INIT(""),
                                            .subject = STR_INIT(""),
                                            .dialect = STR_INIT(""),
                                            .model = STR_INIT("m"),
                                            .provider = STR_INIT("p"),
                                            .level = STR_INIT(""),
                                            .asked = STR_INIT(""),
                                            .cap = -1};

static void run(struct hub *h, struct hub_port *p, struct loop *l, const char *what, unsigned round)
{
    struct hub_call *c = hub_call_begin(h, p, &call_begin);
    uint64_t from = clock_mono_ns(&clock_real), ns;
    struct hub_end end = {.provider = STR(""),
                          .model = STR(""),
                          .step = STR(""),
                          .stop = STR(""),
                          .error_message = STR(""),
                          .decision = STR(""),
                          .reasoning_state = STR("")};

    messages = 0;
    for (unsigned i = 0; i < PIECES; i++) {
        hub_call_text(c, HUB_ANSWER, STR(PIECE));
        if (round && i % round == 0)
            turn(l);
    }
    ns = clock_mono_ns(&clock_real) - from;
    hub_call_end(c, &end);
    turn(l);
    printf("%-50s %6.0f ns a piece, %zu messages\n", what, (double)ns / PIECES, messages);
}

int main(void)
{
    static const struct hub_viewer_ops ops = {HUB_BY_SOCKET, on_send, on_full, NULL, NULL, NULL};
    struct hub *h = hub_new(&clock_real);
    struct hub_viewer *viewers[500];
    struct hub_port *p;
    struct loop *l;
    struct err e;

    l = loop_new(&clock_real, &e);
    if (!l)
        base_die("%s", e.text);
    p = hub_port_new(h, l);
    run(h, p, l, "nobody watches", 0);
    for (size_t i = 0; i < COUNT_OF(viewers); i++) {
        viewers[i] =
            hub_viewer_new(p, &(struct hub_scope){.all = true, .key = STR("")}, &ops, NULL);
        if (!hub_subscribe(viewers[i], i ? STR("dashboard_updates") : STR("session_s"), 0, &e))
            base_die("%s", e.text);
    }
    run(h, p, l, "one watches it, 499 watch all; 8 pieces a round", 8);
    for (size_t i = 0; i < COUNT_OF(viewers); i++)
        hub_viewer_free(viewers[i]);
    loop_free(l);
    hub_port_free(p);
    hub_free(h);
    return 0;
}
