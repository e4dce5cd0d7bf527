/* daemons_takeover.c - hands the work of a dead daemon to another one.
 *
 * The new daemon has to continue the rows that are `due`. The runs of an alert move together with
 * it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/daemons.h"

const char *const daemons_takeover_sql[] = {
    /* Nobody resumes a question about an incident: who asked it asks again (incidents/chat.c). */
    "UPDATE agent_runs SET status = 'cancelled', reason = 'interrupted', daemon_id = $2, due = ''"
    " WHERE daemon_id = $1 AND status = 'running' AND app = 'incidents.chat'",
    "UPDATE agent_runs SET daemon_id = $2,"
    " due = CASE WHEN due = '' AND status = 'running' THEN 'resume' ELSE due END"
    " WHERE daemon_id = $1 AND status IN ('running', 'waiting')",
    "UPDATE alerts SET daemon_id = $2, due = CASE WHEN due = '' THEN 'resume' ELSE due END"
    " WHERE daemon_id = $1 AND state IN ('queued', 'processing', 'waiting')",
    "UPDATE notifications SET daemon_id = $2 WHERE daemon_id = $1 AND state = 'pending'",
    "UPDATE policy_reverify SET daemon_id = $2 WHERE daemon_id = $1 AND status = 'running'",
    NULL,
};
