/* reverify.h - the cases of a document verified again, one after another, on a thread of its own.
 *
 *     if (!policy_reverify_start(r, &row, e)) ...           ERR_CONFLICT: another one runs
 *     policy_reverify_resume(r);                            one that the process before did not end
 *
 * Each case is answered by the controller that answered it before, unless the request names one.
 * Progress is in the store after each case, so the next process resumes after a kill. Who ends the
 * job in the store (policy_table_reverify_end) cancels it after the case at hand, on any daemon.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/service.h"

#define POLICY_REVERIFY_MAX 100000 /* cases of one re-verification */

struct policy_reverify;

struct policy_reverify *policy_reverify_new(struct policy_service *s);
void policy_reverify_free(struct policy_reverify *r); /* NULL: nothing; a job resumes at the next
                                                       * start */
/* Puts the row and begins; ERR_CONFLICT if one runs already. */
bool policy_reverify_start(struct policy_reverify *r, const struct policy_reverify_row *row,
                           struct err *e) MUST_USE;
/* Another daemon took over: this one stores nothing more of its current work. */
void policy_reverify_lost(struct policy_reverify *r);
void policy_reverify_resume(struct policy_reverify *r);
