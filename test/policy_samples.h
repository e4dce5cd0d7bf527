/* policy_samples.h - DOCX and PDF files for tests, written here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

/* A part of an archive. flags are those of ZIP: 1 is "encrypted". */
struct sample_part {
    const char *name;
    str text;
    bool stored; /* else deflated */
    unsigned flags;
    uint32_t claims; /* the size that it says; 0: the true one */
    bool bad_crc;
};

/* An archive with these parts. */
void sample_zip(const struct sample_part *parts, size_t n, struct buf *out);
/* A Word document whose body has this XML; styles: heading 1 and 2, Title, a list. */
void sample_docx(const char *body, struct buf *out);

/* A line of a page, in points from the bottom left; size 0 ends the page, and the last one has the
 * page NULL text. */
struct sample_line {
    int x, y, size;
    const char *text; /* NULL: the page ends; a picture if x is 1 */
};

/* "compressed", "encrypted": what else the file is. */
enum sample_pdf { SAMPLE_PLAIN, SAMPLE_COMPRESSED, SAMPLE_ENCRYPTED };
void sample_pdf(const struct sample_line *lines, size_t n, enum sample_pdf kind, struct buf *out);
