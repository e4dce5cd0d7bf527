/* SPDX-License-Identifier: Apache-2.0 */
#include "split/line.h"

#define FENCE_MIN 3
#define INDENT_MAX 3
#define SHORT_MAX 8

void split_line_reset(struct split_line *l, bool count_ticks)
{
    *l = (struct split_line){.state = SPLIT_LINE_START, .count_ticks = count_ticks};
}

bool split_line_at_start(const struct split_line *l)
{
    return l->state == SPLIT_LINE_START;
}

/* Whether the line so far closes the fence that is open. */
static bool split_line_is_fence_end(const struct split_line *l)
{
    return (l->state == SPLIT_LINE_RUN || l->state == SPLIT_LINE_REST) && l->rest_blank &&
           l->mark == l->fence_mark && l->run >= l->fence_size;
}

bool split_line_in_fence(const struct split_line *l)
{
    return l->fence_size > 0 && !split_line_is_fence_end(l);
}

/* A line that began with a run of fence characters has ended. */
static void split_end_fence_line(struct split_line *l)
{
    assert(l->state == SPLIT_LINE_RUN || l->state == SPLIT_LINE_REST);
    if (l->run < FENCE_MIN) /* with nothing after it */
        return;
    if (l->fence_size == 0) {
        if (l->mark == '`' && l->rest_tick)
            return;
        l->fence_size = l->run;
        l->fence_mark = l->mark;
        return;
    }
    if (l->mark != l->fence_mark || l->run < l->fence_size)
        return;
    if (l->rest_blank)
        l->fence_size = 0;
    else if (!l->rest_tick)
        l->reopened = true;
}

static void split_line_end_line(struct split_line *l)
{
    if (l->state == SPLIT_LINE_RUN || l->state == SPLIT_LINE_REST)
        split_end_fence_line(l);
    l->state = SPLIT_LINE_START;
    l->spaces = 0;
    l->ticks_odd = false;
}

static void split_start_byte(struct split_line *l, char c)
{
    assert(l->state == SPLIT_LINE_START && l->spaces <= INDENT_MAX);
    if (c == ' ' && l->spaces < INDENT_MAX) {
        l->spaces++;
    } else if (c == '`' || c == '~') {
        l->state = SPLIT_LINE_RUN;
        l->mark = c;
        l->run = 1;
        l->rest_blank = true;
        l->rest_tick = false;
    } else {
        l->state = SPLIT_LINE_TEXT;
    }
}

static void split_rest_byte(struct split_line *l, char c)
{
    if (c == '`')
        l->rest_tick = true;
    if (c != ' ' && c != '\t' && c != '\r')
        l->rest_blank = false;
}

static void split_run_byte(struct split_line *l, char c)
{
    assert(l->run > 0 && (l->mark == '`' || l->mark == '~'));
    if (c == l->mark) {
        l->run += l->run < UINT32_MAX;
    } else if (l->run < FENCE_MIN) {
        l->state = SPLIT_LINE_TEXT;
    } else {
        l->state = SPLIT_LINE_REST;
        split_rest_byte(l, c);
    }
}

static bool split_line_is_plain(char c)
{
    return c != ' ' && c != '`' && c != '~' && c != '\n';
}

/* The next line feed, or NULL. Most runs are a few bytes, which a call would take longer for. */
static const char *split_line_end(const char *p, const char *end)
{
    if (end - p >= SHORT_MAX)
        return memchr(p, '\n', (size_t)(end - p));
    while (p < end && *p != '\n')
        p++;
    return p < end ? p : NULL;
}

/* From inside a line of text to the next position where the state can change: past its end, and
 * past the following lines as long as they are text from their first byte. */
static size_t split_skip_text(struct split_line *l, str run, size_t at)
{
    const char *p = run.p + at, *end = run.p + run.n, *newline;

    assert(l->state == SPLIT_LINE_TEXT && at < run.n);
    while ((newline = split_line_end(p, end))) {
        l->ticks_odd = false;
        p = newline + 1;
        if (p == end || !split_line_is_plain(*p)) {
            split_line_end_line(l);
            return (size_t)(p - run.p);
        }
    }
    while (l->count_ticks && (p = memchr(p, '`', (size_t)(end - p))))
        l->ticks_odd = !l->ticks_odd, p++;
    return run.n;
}

void split_line_feed(struct split_line *l, str run)
{
    for (size_t at = 0; at < run.n;) {
        char c = run.p[at];

        if (l->state == SPLIT_LINE_TEXT) {
            at = split_skip_text(l, run, at);
            continue;
        }
        at++;
        if (c == '\n') {
            split_line_end_line(l);
            continue;
        }
        l->ticks_odd ^= l->count_ticks && c == '`';
        if (l->state == SPLIT_LINE_START)
            split_start_byte(l, c);
        else if (l->state == SPLIT_LINE_RUN)
            split_run_byte(l, c);
        else
            split_rest_byte(l, c);
    }
    assert(l->state != SPLIT_LINE_START || l->spaces <= INDENT_MAX);
}
