/* watchdog.c - see watchdog.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/watchdog.h"

#include "serve/listen.h"

#include <errno.h>
#include <unistd.h>

#define ADDRESS_RETRY_US 1000000u

static void watchdog_on_task(void *worker)
{
    atomic_store(&((struct worker *)worker)->runs, true);
}

void watchdog_init(struct worker *w)
{
    loop_task_init(&w->beat, watchdog_on_task, w);
    atomic_store(&w->runs, true);
}

/* Half of the time that systemd allows; 0: it does not watch this process. */
static uint64_t watchdog_interval_us(void)
{
    const char *us = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    uint64_t allowed, watched;

    if (!us || !str_u64(str_c(us), &allowed))
        return 0;
    if (pid && !(str_u64(str_c(pid), &watched) && watched == (uint64_t)getpid()))
        return 0;
    return allowed / 2;
}

static void watchdog_beat(struct daemon *d)
{
    bool all = true;

    for (unsigned i = 0; d && i < d->worker_count; i++)
        all = all && atomic_load(&d->workers[i].runs);
    if (!all)
        return;
    notify_systemd("WATCHDOG=1");
    for (unsigned i = 0; d && i < d->worker_count; i++) {
        atomic_store(&d->workers[i].runs, false);
        loop_post(d->workers[i].gl.loop, &d->workers[i].beat);
    }
}

void watchdog_write_address(struct daemon *d, const char *address)
{
    bool retry = d->unwritten != NULL;
    struct err e;

    assert(address);
    d->unwritten = store_reached(d->gateway.store, str_c(address), &e) ? NULL : address;
    if (d->unwritten && !retry)
        log_warn("commands cannot find this daemon until its address can be written", LOG_ERR(&e));
    else if (retry && !d->unwritten)
        log_info("commands can find this daemon now", LOG_TEXT("address", address));
}

int watchdog_await_signal(struct daemon *d, const sigset_t *set)
{
    int sig;

    for (;;) {
        uint64_t us = watchdog_interval_us();

        if (d && d->unwritten && (us == 0 || us > ADDRESS_RETRY_US))
            us = ADDRESS_RETRY_US;

        struct timespec interval = {(time_t)(us / 1000000), (long)(us % 1000000 * 1000)};

        sig = sigtimedwait(set, NULL, us ? &interval : NULL);
        if (sig > 0)
            return sig;
        if (errno != EAGAIN)
            continue;
        watchdog_beat(d);
        if (d && d->unwritten)
            watchdog_write_address(d, d->unwritten);
    }
}
