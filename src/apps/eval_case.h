/* eval_case.h - a case while it is read: eval_case.c reads the folder and the expected texts,
 * eval_alert.c the alert, its runbook and the recordings.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/eval.h"

struct eval_loading {
    const struct eval_source *source;
    struct arena *arena;
    struct eval_case *out;
    struct eval_faults *faults;
    str question, runbook, alert; /* of test_case.yaml */
};

void eval_fault(struct eval_faults *faults, struct arena *a, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
const char *eval_path(struct arena *a, const char *folder, const char *name);

/* eval_alert.c; false after a fault. */
bool eval_read_alert(struct eval_loading *l);
bool eval_count_recordings(struct eval_loading *l);
