/* watchdog.h - tells systemd that every loop still runs (WatchdogSec of the unit).
 *
 * The main thread waits for signals, and twice in the time that systemd allows it posts a task to
 * each loop. Once all have run theirs, it notifies systemd. If a loop hangs, it does not, and
 * systemd restarts the daemon.
 *
 * While the file with the daemon's address cannot be written, the main thread also retries that.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "serve/internal.h"

#include <signal.h>

void watchdog_init(struct worker *w);
/* Waits for a signal of the set. `d` is NULL while loops end: systemd is notified all the same. */
int watchdog_await_signal(struct daemon *d, const sigset_t *set);
/* Writes the address for commands that look for the daemon. On failure, for example because the
 * disk is full, watchdog_await_signal retries each second. Main thread only. */
void watchdog_write_address(struct daemon *d, const char *address);
