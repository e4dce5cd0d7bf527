/* html.c - a policy in HTML to its tree. See format.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/format/format.h"
#include "apps/policy/format/markup.h"
#include "apps/policy/format/prose.h"
#include "base/utf8.h"

#define LISTS_MAX 16

#define DROPPED "script style template noembed noframes iframe object"
#define BLOCKS                                                                                     \
    "p div section article header footer main aside nav blockquote address dl dt dd figure "       \
    "figcaption form fieldset legend details summary hr center pre body html head option caption " \
    "thead tbody tfoot colgroup"

struct html {
    struct markup m;
    struct prose p;
    struct outline o;
    struct arena *arena;
    unsigned heading;                /* level of the open heading; 0: none */
    unsigned depth;                  /* of lists */
    unsigned numbers[LISTS_MAX + 1]; /* of the next item of a list; 0: it has bullets */
    bool in_title;
    struct buf scratch;
};

static bool html_end_heading(struct html *h)
{
    unsigned level = h->heading;

    h->heading = 0;
    return level == 0 || prose_heading(&h->p, level);
}

static unsigned html_heading_level(const struct markup_token *t)
{
    bool is = t->name.n == 2 && (t->name.p[0] | 0x20) == 'h' && t->name.p[1] >= '1' &&
              t->name.p[1] <= '6';

    return is ? (unsigned)(t->name.p[1] - '0') : 0;
}

static void html_list(struct html *h, const struct markup_token *t)
{
    assert(h->depth <= LISTS_MAX);
    prose_end(&h->p);
    if (t->kind == MARKUP_OPEN && h->depth < LISTS_MAX)
        h->numbers[++h->depth] = markup_is(t, "ol") ? markup_number(t, "start", 1000000, 1) : 0;
    else if (t->kind == MARKUP_CLOSE && h->depth > 0)
        h->depth--;
}

static void html_list_item(struct html *h, const struct markup_token *t)
{
    unsigned depth = h->depth > 0 ? h->depth : 1, *number = &h->numbers[depth];

    assert(depth >= 1 && depth <= LISTS_MAX);
    prose_end(&h->p);
    if (t->kind == MARKUP_CLOSE)
        return;
    if (h->depth > 0 && *number > 0)
        *number = markup_number(t, "value", 1000000, *number);
    prose_item(&h->p, depth, h->depth > 0 ? *number : 0);
    if (h->depth > 0 && *number > 0)
        ++*number;
}

static bool html_tag(struct html *h, const struct markup_token *t)
{
    bool open = t->kind == MARKUP_OPEN;
    unsigned level = html_heading_level(t);

    if (level > 0) {
        if (!html_end_heading(h))
            return false;
        prose_end(&h->p);
        h->heading = open && !t->empty ? level : 0;
    } else if (open && markup_among(t, DROPPED)) {
        if (!t->empty)
            markup_skip_raw(&h->m, t);
    } else if (markup_is(t, "title")) {
        h->in_title = open;
    } else if (markup_among(t, "del s strike")) {
        return err_input(
            h->o.e, "the HTML has text that is struck out; remove it, and save the page again");
    } else if (markup_among(t, "sup sub")) { /* "65<sup>1</sup>" is not 651 */
        if (open)
            prose_text(&h->p, markup_is(t, "sup") ? STR("^") : STR("_"));
    } else if (markup_is(t, "br")) {
        prose_line(&h->p);
    } else if (markup_among(t, "ul ol menu dir")) {
        html_list(h, t);
    } else if (markup_is(t, "li")) {
        html_list_item(h, t);
    } else if (markup_is(t, "table")) {
        prose_table(&h->p, open);
    } else if (markup_is(t, "tr")) {
        if (open)
            prose_row(&h->p);
    } else if (markup_among(t, "td th")) {
        if (open)
            prose_cell(&h->p,
                       markup_number(t, "colspan", PROSE_COLUMNS_MAX, 1),
                       markup_number(t, "rowspan", UINT16_MAX, 1));
    } else if (markup_among(t, BLOCKS) && !h->heading) {
        prose_end(&h->p);
    }
    return true;
}

static void html_text(struct html *h, str text)
{
    buf_reset(&h->scratch);
    markup_decode(text, &h->scratch);
    if (h->in_title && h->o.t->title.n == 0)
        h->o.t->title = policy_title(buf_str(&h->scratch), h->arena);
    else if (!h->in_title)
        prose_text(&h->p, buf_str(&h->scratch));
}

static bool html_read(struct html *h, str source)
{
    struct markup_token t;

    if (!outline_begin(&h->o, 0))
        return false;
    while (markup_next(&h->m, &t))
        if (t.kind == MARKUP_TEXT)
            html_text(h, t.text);
        else if (!html_tag(h, &t))
            return false;
    if (h->m.wrong)
        return err_input(h->o.e,
                         "the HTML is damaged at byte %zu: %s; save the page again",
                         h->m.at,
                         h->m.wrong);
    if (!html_end_heading(h))
        return false;
    while (h->p.tables > 0)
        prose_table(&h->p, false);
    prose_end(&h->p);
    /* The title may be read after the first section, which has the document's title. */
    if (h->o.t->title.n > 0)
        h->o.sections[0].node.title = h->o.t->title;
    return outline_finish(&h->o, source);
}

bool policy_tree_html(str text, str name, struct arena *a, struct policy_tree *out, struct err *e)
{
    bool marked = str_starts(text, STR("\xEF\xBB\xBF"));
    struct html h = {.m = {.src = text, .at = marked ? 3 : 0, .html = true}, .arena = a};
    bool ok;

    outline_init(&h.o, name, a, out, e);
    if (utf8_valid_size(text) < text.n)
        return err_input(
            e, "the HTML is not UTF-8 (byte %zu); save the page as UTF-8", utf8_valid_size(text));
    prose_init(&h.p, &h.o);
    buf_init(&h.scratch, text.n); /* decoding makes no text longer */
    ok = html_read(&h, text);
    buf_release(&h.scratch);
    prose_release(&h.p);
    outline_release(&h.o);
    return ok;
}
