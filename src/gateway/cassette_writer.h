/* cassette_writer.h - appends recorded calls to cassettes in a thread, so that no loop waits for
 * the disk.
 *
 * The queue holds at most CASSETTE_WRITER_MAX bytes; calls that do not fit are dropped and logged.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

#define CASSETTE_WRITER_MAX ((size_t)64 << 20)

struct cassette_writer;

struct cassette_writer *cassette_writer_new(void);
void cassette_writer_free(struct cassette_writer *s); /* writes the queued calls first */
/* Appends to the file at path; a new file begins with `head`. Any thread; both are copied. */
void cassette_writer_add(struct cassette_writer *s, str path, str head, str line);
