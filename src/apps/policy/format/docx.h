/* docx.h - a DOCX file while it is read: docx.c the body, docx_parts.c styles and notes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/format/format.h"
#include "apps/policy/format/markup.h"
#include "apps/policy/format/prose.h"
#include "apps/policy/format/zip.h"
#include "base/map.h"

#define DOCX_STYLES_MAX 10000
#define DOCX_NOTES_MAX 10000
#define DOCX_NOTES_OPEN 16

struct docx_paragraph {
    unsigned level; /* of a heading; 0: none */
    unsigned depth; /* of an item, from 0 */
    bool item;
    bool title;    /* of the document */
    bool contents; /* a line of the table of contents */
};

struct docx_style {
    str id, name, based_on;
    unsigned level;
    bool item;
};

struct docx_note {
    bool footnote; /* else an endnote */
    str id, text;
};

struct docx {
    struct zip z;
    struct prose p;
    struct outline o;
    struct arena *arena;
    struct buf scratch;
    struct docx_style *styles;
    size_t style_count, style_cap;
    struct docx_note *notes;
    size_t note_count, note_cap;
    struct map styles_by_id, footnotes, endnotes; /* ids to places in the two lists */
    struct docx_paragraph paragraph;              /* the open one */
    str notes_open[DOCX_NOTES_OPEN];              /* that it refers to */
    size_t note_open;
    unsigned depth; /* of tags */
    unsigned skip;  /* depth of the tag whose content is skipped; 0: none */
    uint32_t page;
    bool rendered; /* page breaks are those that the word processor stored */
    bool in_properties, in_text, hidden;
};

/* Both take "" if the part is missing. False: it is damaged or has too many. */
bool docx_read_styles(struct docx *d, str xml) MUST_USE;
bool docx_read_notes(struct docx *d, str xml) MUST_USE;
/* The style of a paragraph, and the styles that it is based on. */
void docx_style_of(const struct docx *d, str id, struct docx_paragraph *out);
