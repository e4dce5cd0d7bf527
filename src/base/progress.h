/* progress.h - shows on a terminal how far long work is: its rate, and the time left.
 *
 *     struct progress p = progress_begin("export", "sessions", total);     0: the total is unknown
 *     ...
 *     progress_set(&p, done);
 *     ...
 * progress_end(&p); the line disappears
 *
 * The line appears on stderr once the work has taken two seconds, and only after progress_enable in
 * a process whose stderr is a terminal; otherwise these functions do nothing. A thread draws the
 * line, so work that is stuck shows its time too. One piece of work is shown at a time: a piece
 * that begins inside another is not shown.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/str.h"

#define PROGRESS_LINE_MAX 80 /* with its NUL */

struct progress {
    bool shown; /* this piece of work is shown */
};

/* By a command at its beginning; a daemon disables it once it serves. */
void progress_enable(void);
void progress_disable(void);

/* The texts must outlive the work. */
struct progress progress_begin(const char *what, const char *things, uint64_t total);
void progress_set(const struct progress *p, uint64_t done);
/* Words at the end of the line, copied: the name of the case that runs. */
void progress_note(const struct progress *p, str note);
void progress_end(struct progress *p);
/* Takes the line away until it is drawn again: before another text is written to the terminal. */
void progress_clear(void);

/* The line after `ns` of work, without terminal escapes. */
struct progress_work {
    const char *what, *things;
    uint64_t done, total;
};
str progress_line(const struct progress_work *w, uint64_t ns, char out[PROGRESS_LINE_MAX]);
