/* detect.c - recognizes the type of a file by its content. See format.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/format/format.h"
#include "apps/policy/format/zip.h"
#include "base/utf8.h"

#include <strings.h>

#define PDF_LEAD 1024 /* bytes that may come before the mark of a PDF */

typedef bool policy_format_reader(str bytes, str name, struct arena *a, struct policy_tree *out,
                                  struct err *e);

/* Files that are recognized and not read: their type, and what to do. */
static const struct {
    const char *mark;
    size_t size;
    const char *is;
} refused[] = {
    {"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1",
     8,
     "an old Word file or an encrypted one; save it as .docx without a password"},
    {"{\\rtf", 5, "an RTF file; save it as .docx"},
    {"\x89PNG", 4, "a picture; run text recognition on it, and use its text"},
    {"\xFF\xD8\xFF", 3, "a picture; run text recognition on it, and use its text"},
    {"II*\0", 4, "a picture; run text recognition on it, and use its text"},
    {"MM\0*", 4, "a picture; run text recognition on it, and use its text"},
    {"\x1F\x8B", 2, "compressed; unpack it first"},
    {"BZh", 3, "compressed; unpack it first"},
    {"7z\xBC\xAF\x27\x1C", 6, "compressed; unpack it first"},
    {"\xFF\xFE", 2, "UTF-16 text; save it as UTF-8"},
    {"\xFE\xFF", 2, "UTF-16 text; save it as UTF-8"},
};

static str format_start(str s)
{
    if (str_starts(s, STR("\xEF\xBB\xBF")))
        s = str_slice(s, 3, s.n);
    return str_trim(s);
}

static bool format_begins(str s, const char *word)
{
    size_t n = strlen(word);

    return s.n >= n && strncasecmp(s.p, word, n) == 0;
}

static bool format_named(str name, const char *ending)
{
    size_t n = strlen(ending);

    return name.n >= n && strncasecmp(name.p + name.n - n, ending, n) == 0;
}

/* A page, or by its name a piece of one; Markdown may begin with a tag, too. */
static bool format_is_html(str text, str name)
{
    text = format_start(text);
    if (format_named(name, ".html") || format_named(name, ".htm") || format_named(name, ".xhtml"))
        return true;
    if (format_begins(text, "<?xml")) {
        size_t end = str_find(text, STR("?>"));

        text = end == STR_NONE ? text : str_trim(str_slice(text, end + 2, text.n));
    }
    return format_begins(text, "<!doctype html") || format_begins(text, "<html");
}

static bool format_is_json(str text)
{
    text = format_start(text);
    return text.n > 0 && (text.p[0] == '{' || (text.p[0] == '[' && str_ends(text, STR("]"))));
}

static bool format_read_archive(str bytes, str name, struct arena *a, struct policy_tree *out,
                                struct err *e)
{
    struct zip z;

    if (!zip_open(&z, bytes, e))
        return err_prefix(e, "a Word document or another archive: ");
    if (zip_has(&z, STR("word/document.xml")))
        return policy_tree_docx(bytes, name, a, out, e);
    return err_input(
        e,
        "it is an archive and no Word document; save it as .docx, or unpack it and name "
        "the file");
}

/* NULL for text: Markdown, JSON or an unknown type. */
static policy_format_reader *format_find_reader(str bytes, str name)
{
    str lead = str_slice(bytes, 0, bytes.n < PDF_LEAD ? bytes.n : PDF_LEAD);

    if (str_find(lead, STR("%PDF-")) != STR_NONE)
        return policy_tree_pdf;
    if (str_starts(bytes, STR("PK\x03\x04")) || str_starts(bytes, STR("PK\x05\x06")))
        return format_read_archive;
    return format_is_html(bytes, name) ? policy_tree_html : NULL;
}

static bool format_check_known(str bytes, struct err *e)
{
    for (size_t i = 0; i < COUNT_OF(refused); i++)
        if (str_starts(bytes, (str){refused[i].mark, refused[i].size}))
            return err_input(e, "it is %s", refused[i].is);
    return true;
}

bool policy_tree_any(str bytes, str name, struct arena *a, struct policy_tree *out, struct err *e)
{
    policy_format_reader *read = format_find_reader(bytes, name);

    if (!format_check_known(bytes, e))
        return false;
    if (read)
        return read(bytes, name, a, out, e);
    if (format_is_json(bytes))
        return policy_tree_read(str_trim(bytes), name, a, out, e);
    return policy_tree_markdown(bytes, name, a, out, e);
}

static void format_write_page(const struct policy_tree *t, uint32_t now, uint32_t *page,
                              struct buf *out)
{
    if (t->has_pages && now != *page)
        buf_printf(out, "\n<!-- page %u -->\n", (unsigned)now);
    *page = now;
}

/* As Markdown: see tree.h. *page is the page that the text is on. */
static void format_write_section(const struct policy_tree *t, const struct policy_node *n,
                                 uint32_t *page, struct buf *out)
{
    assert(n->page_count > 0 && n->level <= 6);
    format_write_page(t, n->pages[0].page, page, out);
    if (n->level)
        buf_printf(out, "%.*s " STR_FMT "\n\n", (int)n->level, "######", STR_ARG(n->title));
    for (uint32_t i = 0; i < n->page_count; i++) {
        size_t end = i + 1 < n->page_count ? n->pages[i + 1].at : n->text.n;

        assert(n->pages[i].at <= end && end <= n->text.n);
        format_write_page(t, n->pages[i].page, page, out);
        buf_add(out, str_slice(n->text, n->pages[i].at, end));
    }
    buf_add(out, STR("\n\n"));
}

bool policy_text_any(str bytes, str name, struct arena *a, str *out, struct err *e)
{
    policy_format_reader *read = format_find_reader(bytes, name);
    struct policy_tree tree;
    uint32_t page = 0;
    struct buf text;

    if (!format_check_known(bytes, e))
        return false;
    if (!read) {
        *out = bytes;
        return (utf8_valid(bytes) && !memchr(bytes.p, '\0', bytes.n)) ||
               err_input(e, "it is not text in UTF-8; save it as UTF-8");
    }
    if (!read(bytes, name, a, &tree, e))
        return false;
    buf_init(&text, POLICY_ARENA_MAX);
    for (uint32_t i = 0; i < tree.node_count; i++)
        format_write_section(&tree, &tree.nodes[i], &page, &text);
    *out = arena_dup(a, str_trim(buf_str(&text)));
    buf_release(&text);
    return true;
}
