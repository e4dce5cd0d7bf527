/* db_sqlite.h - what the files of the SQLite driver share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <sqlite3.h>

/* Words for the index are found faster on this connection; they are the same ones. */
void db_sqlite_words(sqlite3 *db);
