/* proc_confine.h - a child that may do little, for proc.c. See struct proc_confine.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/proc.h"

/* Like posix_spawnp: 0, or the error's number. fds are the child's 0, 1 and 2, or -1. */
int proc_confine_start(pid_t *pid, const struct proc_spec *spec, const int fds[3],
                       const char *const *env) MUST_USE;
