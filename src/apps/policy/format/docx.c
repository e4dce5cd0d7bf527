/* docx.c - a policy in DOCX (Office Open XML) to its tree. See format.h.
 *
 * Footnotes and endnotes follow the paragraph that refers to them. Headers, footers, comments and
 * the table of contents are left out. A document with tracked changes is refused, because its final
 * text is undecided.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/format/docx.h"

#include "base/utf8.h"

static bool docx_wrong(struct docx *d, const char *what)
{
    return err_input(d->o.e, "the Word document %s", what);
}

/* ---- paragraphs ---- */

/* A flag is on unless its value turns it off. */
static bool docx_flag(const struct markup_token *t, struct arena *a)
{
    str val;

    return !markup_attribute(t, "w:val", a, &val) ||
           !(str_eq(val, STR("0")) || str_eq(val, STR("false")) || str_eq(val, STR("off")));
}

static void docx_property(struct docx *d, const struct markup_token *t)
{
    struct docx_paragraph *p = &d->paragraph;

    assert(d->in_properties);
    if (markup_is(t, "w:pStyle")) {
        str id;

        if (markup_attribute(t, "w:val", d->arena, &id))
            docx_style_of(d, id, p);
    } else if (markup_is(t, "w:outlineLvl")) {
        unsigned level = markup_number(t, "w:val", 9, 9);

        p->level = level < 9 ? level + 1 : 0;
    } else if (markup_is(t, "w:numId")) {
        p->item = markup_number(t, "w:val", 1000000, 1) > 0;
    } else if (markup_is(t, "w:ilvl")) {
        p->depth = markup_number(t, "w:val", 8, 0);
    }
}

static bool docx_end_paragraph(struct docx *d)
{
    struct docx_paragraph p = d->paragraph;
    bool ok = true;

    assert(d->note_open <= DOCX_NOTES_OPEN);
    d->paragraph = (struct docx_paragraph){0};
    if (p.title && d->o.t->title.n == 0)
        d->o.t->title = policy_title(buf_str(&d->p.open), d->arena);
    if (p.level > 0)
        ok = prose_heading(&d->p, p.level);
    prose_end(&d->p);
    for (size_t i = 0; i < d->note_open; i++) {
        prose_text(&d->p, d->notes_open[i]);
        prose_end(&d->p);
    }
    d->note_open = 0;
    return ok;
}

static void docx_note_reference(struct docx *d, const struct markup_token *t)
{
    struct map *notes = markup_is(t, "w:footnoteReference") ? &d->footnotes : &d->endnotes;
    const struct map_entry *found;
    str id, text;

    if (!markup_attribute(t, "w:id", d->arena, &id))
        return;
    found = map_find(notes, id);
    text = found ? d->notes[found->value.u64].text : STR("");
    if (text.n > 0 && d->note_open < COUNT_OF(d->notes_open))
        d->notes_open[d->note_open++] = text;
    else if (text.n > 0) /* more than anybody refers to in one paragraph: it stays in the text */
        prose_text(&d->p, text);
}

/* ---- the body ---- */

static bool docx_break(struct docx *d, const struct markup_token *t)
{
    str type = STR("");
    bool rendered = markup_is(t, "w:lastRenderedPageBreak");

    (void)!markup_attribute(t, "w:type", d->arena, &type);
    if (rendered || (!d->rendered && str_eq(type, STR("page"))))
        return prose_page(&d->p, ++d->page);
    if (!str_eq(type, STR("page")))
        prose_line(&d->p);
    return true;
}

/* "65" with a raised "1" is not 651. */
static void docx_raise(struct docx *d, const struct markup_token *t)
{
    str how = STR("");

    (void)!markup_attribute(t, "w:val", d->arena, &how);
    if (str_eq(how, STR("superscript")) || str_eq(how, STR("subscript")))
        prose_text(&d->p, str_eq(how, STR("superscript")) ? STR("^") : STR("_"));
}

/* The contents of a run other than its text. */
static bool docx_run_tag(struct docx *d, const struct markup_token *t)
{
    if (markup_is(t, "w:t") || markup_is(t, "m:t"))
        d->in_text = !t->empty;
    else if (markup_is(t, "w:r"))
        d->hidden = false;
    else if (markup_is(t, "w:vanish"))
        d->hidden = docx_flag(t, d->arena);
    else if (markup_is(t, "w:vertAlign"))
        docx_raise(d, t);
    else if (markup_among(t, "w:strike w:dstrike"))
        return !docx_flag(t, d->arena) ||
               docx_wrong(d, "has text that is struck out; remove it, and save it again");
    else if (markup_is(t, "w:sym"))
        return docx_wrong(
            d, "has signs of a symbol font; replace them by characters, and save it again");
    else if (markup_is(t, "w:tab"))
        prose_text(&d->p, STR(" "));
    else if (markup_is(t, "w:noBreakHyphen"))
        prose_text(&d->p, STR("-"));
    else if (markup_among(t, "w:br w:cr w:lastRenderedPageBreak"))
        return docx_break(d, t);
    else if (markup_among(t, "w:footnoteReference w:endnoteReference"))
        docx_note_reference(d, t);
    return true;
}

static bool docx_open_tag(struct docx *d, const struct markup_token *t)
{
    if (markup_among(t, "w:ins w:del w:moveFrom w:moveTo"))
        return docx_wrong(d, "has tracked changes; accept or reject them, and save it again");
    if (markup_among(t, "w:altChunk w:subDoc"))
        return docx_wrong(d, "has parts of other files; save it as one document");
    if (d->in_properties) {
        docx_property(d, t);
        return true;
    }
    if (markup_is(t, "mc:Fallback") && !t->empty) {
        d->skip = d->depth; /* the same content a second time */
    } else if (markup_is(t, "w:p")) {
        prose_end(&d->p);
        d->paragraph = (struct docx_paragraph){0};
    } else if (markup_is(t, "w:pPr")) {
        d->in_properties = !t->empty;
    } else if (markup_is(t, "w:tbl")) {
        prose_table(&d->p, true);
    } else if (markup_is(t, "w:tr")) {
        prose_row(&d->p);
    } else if (markup_is(t, "w:tc")) {
        prose_cell(&d->p, 1, 1);
    } else if (markup_is(t, "w:gridSpan")) {
        d->p.spans_columns = markup_number(t, "w:val", PROSE_COLUMNS_MAX, 1);
    } else {
        return docx_run_tag(d, t);
    }
    return true;
}

static bool docx_close_tag(struct docx *d, const struct markup_token *t)
{
    if (markup_is(t, "w:pPr")) {
        d->in_properties = false;
        if (d->paragraph.item && d->paragraph.level == 0)
            prose_item(&d->p, d->paragraph.depth + 1, 0);
    } else if (markup_is(t, "w:t") || markup_is(t, "m:t")) {
        d->in_text = false;
    } else if (markup_is(t, "w:p")) {
        return docx_end_paragraph(d);
    } else if (markup_is(t, "w:tbl")) {
        prose_table(&d->p, false);
    }
    return true;
}

static bool docx_token(struct docx *d, const struct markup_token *t)
{
    assert(d->skip <= d->depth);
    if (t->kind == MARKUP_TEXT) {
        if (!d->in_text || d->skip || d->hidden || d->paragraph.contents)
            return true;
        buf_reset(&d->scratch);
        if (t->literal)
            buf_add(&d->scratch, t->text);
        else
            markup_decode(t->text, &d->scratch);
        prose_text(&d->p, buf_str(&d->scratch));
        return true;
    }
    if (t->kind == MARKUP_OPEN) {
        d->depth += !t->empty;
        if (t->empty && markup_is(t, "w:p") && !d->skip)
            prose_end(&d->p);
        return d->skip || docx_open_tag(d, t);
    }
    if (d->depth == 0)
        return docx_wrong(d, "is damaged: a tag is closed that is not open; save it again");
    if (d->skip && d->depth-- == d->skip) {
        d->skip = 0;
        return true;
    }
    if (d->skip)
        return true;
    d->depth--;
    return docx_close_tag(d, t);
}

static bool docx_read_body(struct docx *d, str xml)
{
    struct markup m = {.src = xml};
    struct markup_token t;

    d->rendered = str_find(xml, STR("<w:lastRenderedPageBreak")) != STR_NONE;
    d->page = 1;
    if (!outline_begin(&d->o, 0))
        return false;
    if ((d->rendered || str_find(xml, STR("w:type=\"page\"")) != STR_NONE) &&
        !outline_page(&d->o, 1))
        return false;
    while (!outline_is_over(&d->o) && markup_next(&m, &t)) {
        if (d->depth == 0 && t.kind == MARKUP_OPEN && !markup_is(&t, "w:document"))
            return docx_wrong(d, "has no body that is known here; save it again as .docx");
        if (!docx_token(d, &t))
            return false;
    }
    if (outline_is_over(&d->o))
        return true; /* outline_finish reports it */
    if (m.wrong || d->depth > 0)
        return err_input(d->o.e,
                         "the Word document is damaged: %s; save it again",
                         m.wrong ? m.wrong : "it ends early");
    while (d->p.tables > 0)
        prose_table(&d->p, false);
    prose_end(&d->p);
    if (d->o.t->title.n > 0)
        d->o.sections[0].node.title = d->o.t->title;
    return true;
}

/* A part of the archive as text; an optional part that is missing is empty. */
static bool docx_part(struct docx *d, const char *name, bool must, struct buf *out)
{
    buf_init(out, 0);
    if (!must && !zip_has(&d->z, str_c(name)))
        return true;
    if (!zip_read(&d->z, str_c(name), FORMAT_PART_MAX, out, d->o.e))
        return err_prefix(d->o.e, "the Word document cannot be read: ");
    if (utf8_valid(buf_str(out)))
        return true;
    buf_release(out);
    return docx_wrong(d, "is not UTF-8; save it again");
}

static bool docx_read(struct docx *d, str source)
{
    static const struct {
        const char *name;
        bool (*read)(struct docx *d, str xml);
    } parts[] = {{"word/styles.xml", docx_read_styles},
                 {"word/footnotes.xml", docx_read_notes},
                 {"word/endnotes.xml", docx_read_notes}};
    struct buf xml;
    bool ok;

    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        if (!docx_part(d, parts[i].name, false, &xml))
            return false;
        ok = parts[i].read(d, buf_str(&xml));
        buf_release(&xml);
        if (!ok)
            return err_input(
                d->o.e, "the Word document is damaged (%s); save it again", parts[i].name);
    }
    if (!docx_part(d, "word/document.xml", true, &xml))
        return false;
    ok = docx_read_body(d, buf_str(&xml)) && outline_finish(&d->o, source);
    buf_release(&xml);
    return ok;
}

bool policy_tree_docx(str bytes, str name, struct arena *a, struct policy_tree *out, struct err *e)
{
    struct docx *d = base_alloc(sizeof *d);
    bool ok;

    memset(d, 0, sizeof *d);
    d->arena = a;
    outline_init(&d->o, name, a, out, e);
    prose_init(&d->p, &d->o);
    buf_init(&d->scratch, FORMAT_PART_MAX);
    map_init(&d->styles_by_id, NULL, DOCX_STYLES_MAX);
    map_init(&d->footnotes, NULL, DOCX_NOTES_MAX);
    map_init(&d->endnotes, NULL, DOCX_NOTES_MAX);
    ok = (zip_open(&d->z, bytes, e) || err_prefix(e, "the Word document cannot be read: ")) &&
         docx_read(d, bytes);
    map_release(&d->styles_by_id);
    map_release(&d->footnotes);
    map_release(&d->endnotes);
    buf_release(&d->scratch);
    prose_release(&d->p);
    outline_release(&d->o);
    free(d);
    return ok;
}
