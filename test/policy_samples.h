/* policy_samples.h - generates DOCX and PDF files for tests.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

/* A file of an archive. `flags` are ZIP's: 1 is "encrypted". */
struct sample_part {
    const char *name;
    str text;
    bool stored; /* else compressed with deflate */
    unsigned flags;
    uint32_t claims; /* declared size; 0: the true one */
    bool bad_crc;
};

/* Writes an archive of these files. */
void sample_zip(const struct sample_part *parts, size_t n, struct buf *out);
/* A Word document with this XML in its body; styles: heading 1 and 2, Title, a list. */
void sample_docx(const char *body, struct buf *out);

/* A line of a page; its position is in points from the bottom left. A line without text ends each
 * page, the last one too. */
struct sample_line {
    int x, y, size;
    const char *text; /* NULL: end of the page; with x 1: a picture */
};

/* The file can also be compressed or encrypted. */
enum sample_pdf { SAMPLE_PLAIN, SAMPLE_COMPRESSED, SAMPLE_ENCRYPTED };
void sample_pdf(const struct sample_line *lines, size_t n, enum sample_pdf kind, struct buf *out);
