/* db_lease.h - the lease under which the connections of a daemon write to PostgreSQL.
 *
 *     struct db_lease *l = db_lease_new(url, daemon);   DB_BESIDE connections opened later have it
 *     db_lease_join(db, l);                             any other connection gets it so
 *     db_lease_set(l, fence);                           0: nothing may be written
 *     db_lease_free(l);                                 connections that are left write no more
 *
 * Each transaction of such a connection, and each single statement that writes, first locks the
 * daemon's row and compares its fence with the lease's. The transactions of DB_WRITE then wait for
 * their turn: the row of store_turn, which one daemon at a time holds until its commit.
 *
 * A process that has no lease (a command beside the daemons) writes without one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "store/db.h"

struct db_lease;

struct db_lease *db_lease_new(str url, str daemon);
void db_lease_free(struct db_lease *l); /* NULL is allowed */
void db_lease_set(struct db_lease *l, int64_t fence);
int64_t db_lease_fence(const struct db_lease *l);
/* The newest lease of this process for this database, or NULL. db_lease_release ends its use. */
struct db_lease *db_lease_find(str url);
void db_lease_release(struct db_lease *l); /* NULL is allowed */
/* For PostgreSQL; NULL: no lease. Not in a transaction. */
void db_lease_join(struct db *db, struct db_lease *l);
