/* progress.c - see progress.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/progress.h"

#include "base/clock.h"

#include <signal.h>
#include <unistd.h>

#define PROGRESS_AFTER_NS 2000000000u
#define PROGRESS_EVERY_MS 250
#define PROGRESS_NUMBER_SIZE 28
#define PROGRESS_NOTE_SIZE 48
#define PROGRESS_CLEAR "\r\033[K"

static struct {
    pthread_mutex_t lock;
    pthread_cond_t ended; /* signalled by progress_end */
    pthread_t drawer;
    _Atomic bool enabled, running;
    struct progress_work work; /* without `done` */
    _Atomic uint64_t done;
    uint64_t began_ns;
    char note[PROGRESS_NOTE_SIZE];
    bool drawn;
} progress_now = {.lock = PTHREAD_MUTEX_INITIALIZER};

void progress_enable(void)
{
    progress_now.enabled = isatty(STDERR_FILENO) == 1;
}

void progress_disable(void)
{
    progress_now.enabled = false;
}

/* ---- the line ---- */

/* 1234567 as "1,234,567". */
static const char *progress_number(uint64_t n, char out[PROGRESS_NUMBER_SIZE])
{
    char *at = out + PROGRESS_NUMBER_SIZE - 1;

    *at = '\0';
    for (unsigned digits = 1;; digits++) {
        assert(at - out > 1); /* a digit, and perhaps a comma */
        *--at = (char)('0' + n % 10);
        n /= 10;
        if (n == 0)
            return at;
        if (digits % 3 == 0)
            *--at = ',';
    }
}

/* The remaining time in whole seconds below a minute, because tenths of it are not useful. */
static str progress_time(double seconds, char out[CLOCK_DURATION_SIZE])
{
    if (seconds < 60)
        return (str){out, (size_t)snprintf(out, CLOCK_DURATION_SIZE, "%.0f s", seconds)};
    return clock_duration((uint64_t)(seconds < 1e9 ? seconds : 1e9) * 1000000000u, out);
}

static size_t progress_add_rate(const struct progress_work *w, double seconds, char *out,
                                size_t size)
{
    double rate = (double)w->done / seconds;
    char number[PROGRESS_NUMBER_SIZE], left[CLOCK_DURATION_SIZE];
    int n;

    if (rate >= 10)
        n = snprintf(out, size, ", %s/s", progress_number((uint64_t)rate, number));
    else if (rate >= 1)
        n = snprintf(out, size, ", %.1f/s", rate);
    else
        n = snprintf(out, size, ", %.1f/min", rate * 60);
    if (w->total > w->done && n > 0 && (size_t)n < size)
        n += snprintf(out + n,
                      size - (size_t)n,
                      ", %s left",
                      progress_time((double)(w->total - w->done) / rate, left).p);
    return n > 0 ? (size_t)n : 0;
}

str progress_line(const struct progress_work *w, uint64_t ns, char out[PROGRESS_LINE_MAX])
{
    char done[PROGRESS_NUMBER_SIZE], total[PROGRESS_NUMBER_SIZE], time[CLOCK_DURATION_SIZE];
    double seconds = (double)ns / 1e9;
    size_t n = (size_t)snprintf(out, PROGRESS_LINE_MAX, "%.30s: ", w->what);

    if (w->total)
        n += (size_t)snprintf(out + n,
                              PROGRESS_LINE_MAX - n,
                              "%s of %s %.12s",
                              progress_number(w->done, done),
                              progress_number(w->total, total),
                              w->things);
    else if (w->done)
        n += (size_t)snprintf(
            out + n, PROGRESS_LINE_MAX - n, "%s %.12s", progress_number(w->done, done), w->things);
    if (n < PROGRESS_LINE_MAX && w->done)
        n += progress_add_rate(w, seconds, out + n, PROGRESS_LINE_MAX - n);
    else if (n < PROGRESS_LINE_MAX)
        n += (size_t)snprintf(out + n,
                              PROGRESS_LINE_MAX - n,
                              "%s%s",
                              w->total ? ", " : "",
                              progress_time(seconds, time).p);
    return (str){out, n < PROGRESS_LINE_MAX ? n : PROGRESS_LINE_MAX - 1};
}

/* ---- drawing ---- */

static void progress_write(str text)
{
    ssize_t ignored = write(STDERR_FILENO, text.p, text.n);

    (void)ignored; /* relaxed: only for display */
}

/* With the lock. */
static void progress_draw(uint64_t ns)
{
    char line[PROGRESS_LINE_MAX], all[PROGRESS_LINE_MAX + sizeof PROGRESS_CLEAR];
    const char *note = progress_now.note;
    struct progress_work w = progress_now.work;
    int n;

    w.done = progress_now.done;
    n = snprintf(all,
                 sizeof all,
                 PROGRESS_CLEAR "%s%s%s",
                 progress_line(&w, ns, line).p,
                 note[0] ? "  " : "",
                 note);
    progress_write((str){all, (size_t)n < sizeof all ? (size_t)n : sizeof all - 1});
    progress_now.drawn = true;
}

static void *progress_run(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&progress_now.lock);
    while (progress_now.running) {
        uint64_t ns = clock_mono_ns(&clock_real) - progress_now.began_ns;

        if (ns >= PROGRESS_AFTER_NS)
            progress_draw(ns);
        (void)clock_cond_wait(&progress_now.ended,
                              &progress_now.lock,
                              clock_deadline_ns(&clock_real, PROGRESS_EVERY_MS));
    }
    pthread_mutex_unlock(&progress_now.lock);
    return NULL;
}

struct progress progress_begin(const char *what, const char *things, uint64_t total)
{
    struct progress p = {.shown = false};
    sigset_t all, before;
    bool idle = false;

    if (!progress_now.enabled ||
        !atomic_compare_exchange_strong(&progress_now.running, &idle, true))
        return p;
    progress_now.work = (struct progress_work){.what = what, .things = things, .total = total};
    progress_now.done = 0;
    progress_now.drawn = false;
    progress_now.note[0] = '\0';
    progress_now.began_ns = clock_mono_ns(&clock_real);
    clock_cond_init(&progress_now.ended);
    sigfillset(&all); /* signals are for the command's own thread */
    pthread_sigmask(SIG_BLOCK, &all, &before);
    p.shown = pthread_create(&progress_now.drawer, NULL, progress_run, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!p.shown)
        progress_now.running = false;
    return p;
}

void progress_set(const struct progress *p, uint64_t done)
{
    if (p->shown)
        progress_now.done = done;
}

void progress_note(const struct progress *p, str note)
{
    if (!p->shown)
        return;
    pthread_mutex_lock(&progress_now.lock);
    (void)snprintf(progress_now.note, sizeof progress_now.note, STR_FMT, STR_ARG(note));
    pthread_mutex_unlock(&progress_now.lock);
}

void progress_clear(void)
{
    if (!progress_now.running)
        return;
    pthread_mutex_lock(&progress_now.lock);
    if (progress_now.drawn)
        progress_write(STR(PROGRESS_CLEAR));
    progress_now.drawn = false;
    pthread_mutex_unlock(&progress_now.lock);
}

void progress_end(struct progress *p)
{
    if (!p->shown)
        return;
    assert(progress_now.running); /* only one piece of work is shown at a time */
    p->shown = false;
    progress_clear();
    pthread_mutex_lock(&progress_now.lock);
    progress_now.running = false;
    pthread_cond_signal(&progress_now.ended);
    pthread_mutex_unlock(&progress_now.lock);
    pthread_join(progress_now.drawer, NULL);
    pthread_cond_destroy(&progress_now.ended);
}
