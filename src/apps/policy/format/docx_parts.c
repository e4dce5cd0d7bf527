/* docx_parts.c - styles and notes of a DOCX file. See docx.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/format/docx.h"

#include <strings.h>

#define BASED_MAX 20 /* styles, each based on the next */

static str docx_value(struct docx *d, const struct markup_token *t, const char *name)
{
    str value = STR("");

    return markup_attribute(t, name, d->arena, &value) ? value : STR("");
}

bool docx_read_styles(struct docx *d, str xml)
{
    struct markup m = {.src = xml};
    struct docx_style s = {.id = STR("")};
    struct markup_token t;

    while (d->style_count < DOCX_STYLES_MAX && markup_next(&m, &t)) {
        if (t.kind == MARKUP_CLOSE && markup_is(&t, "w:style")) {
            d->styles = arena_grow(d->arena, d->styles, d->style_count, &d->style_cap, sizeof s);
            assert(d->style_count < d->style_cap);
            d->styles[d->style_count] = s;
            if (!map_find(&d->styles_by_id, s.id) &&
                !map_set(&d->styles_by_id, s.id, MAP_U64(d->style_count), d->o.e))
                return false;
            d->style_count++;
        }
        if (t.kind == MARKUP_OPEN && markup_is(&t, "w:style"))
            s = (struct docx_style){
                .id = docx_value(d, &t, "w:styleId"), .name = STR(""), .based_on = STR("")};
        else if (t.kind == MARKUP_OPEN && markup_is(&t, "w:name"))
            s.name = docx_value(d, &t, "w:val");
        else if (t.kind == MARKUP_OPEN && markup_is(&t, "w:basedOn"))
            s.based_on = docx_value(d, &t, "w:val");
        else if (t.kind == MARKUP_OPEN && markup_is(&t, "w:outlineLvl"))
            s.level = markup_number(&t, "w:val", 8, 9) + 1;
        else if (t.kind == MARKUP_OPEN && markup_is(&t, "w:numId"))
            s.item = true;
    }
    return m.at == xml.n && !m.wrong;
}

/* "heading 2" is 2; style ids depend on the word processor's language, these names do not. */
static unsigned docx_named_level(str name)
{
    bool is = name.n == 9 && strncasecmp(name.p, "heading ", 8) == 0 && name.p[8] >= '1' &&
              name.p[8] <= '9';

    return is ? (unsigned)(name.p[8] - '0') : 0;
}

void docx_style_of(const struct docx *d, str id, struct docx_paragraph *out)
{
    for (unsigned step = 0; step < BASED_MAX && id.n > 0; step++) {
        const struct map_entry *found = map_find(&d->styles_by_id, id);
        const struct docx_style *s;
        unsigned named;

        if (!found)
            return;
        assert(found->value.u64 < d->style_count);
        s = &d->styles[found->value.u64];
        named = docx_named_level(s->name);
        out->title = out->title || (s->name.n == 5 && strncasecmp(s->name.p, "title", 5) == 0);
        out->contents = out->contents || (s->name.n > 4 && strncasecmp(s->name.p, "toc ", 4) == 0);
        out->item = out->item || s->item;
        if (out->level == 0)
            out->level = named > 0 ? named : s->level < 10 ? s->level : 0;
        id = s->based_on;
    }
    if (out->title && out->level == 0)
        out->level = 1;
}

bool docx_read_notes(struct docx *d, str xml)
{
    struct markup m = {.src = xml};
    struct docx_note n = {.id = STR("")};
    struct markup_token t;
    bool in_text = false;

    buf_reset(&d->scratch);
    while (d->note_count < DOCX_NOTES_MAX && markup_next(&m, &t)) {
        if (t.kind == MARKUP_TEXT && in_text) {
            markup_decode(t.text, &d->scratch);
        } else if (t.kind != MARKUP_TEXT && markup_is(&t, "w:t")) {
            in_text = t.kind == MARKUP_OPEN && !t.empty;
        } else if (t.kind == MARKUP_CLOSE && markup_is(&t, "w:p")) {
            buf_add_c(&d->scratch, ' ');
        } else if (t.kind != MARKUP_TEXT && markup_among(&t, "w:footnote w:endnote")) {
            if (t.kind == MARKUP_CLOSE) {
                n.text = policy_one_line(buf_str(&d->scratch), d->arena);
                d->notes = arena_grow(d->arena, d->notes, d->note_count, &d->note_cap, sizeof n);
                assert(d->note_count < d->note_cap);
                d->notes[d->note_count] = n;
                if (!map_set(n.footnote ? &d->footnotes : &d->endnotes,
                             n.id,
                             MAP_U64(d->note_count++),
                             d->o.e))
                    return false;
            } else {
                n = (struct docx_note){.footnote = markup_is(&t, "w:footnote"),
                                       .id = docx_value(d, &t, "w:id")};
            }
            buf_reset(&d->scratch);
        }
    }
    return m.at == xml.n && !m.wrong;
}
