/* cite_hear.c - citations of Anthropic and Gemini as OpenAI's annotations.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "wire/cite.h"
#include "wire/gemini.h"

#define HEARD_SIZE_MAX ((size_t)4 << 20)
#define SPOTS_SIZE_MAX ((size_t)1 << 20) /* of answers up to 4 MiB */
#define SPOT 32
#define CHUNKS_MAX 4096 /* of a reply: looked up one by one */
#define SCRATCH_SIZE_MAX ((size_t)64 << 20)

/* ---- where characters begin, so that places in bytes can be told in characters ---- */

struct spot {
    uint32_t chars;  /* before these bytes */
    uint32_t starts; /* a bit for each byte that begins a character */
};

static struct spot *spot_at(const struct cites *s, uint64_t byte)
{
    uint64_t i = byte / SPOT - s->spots_from;

    return byte / SPOT >= s->spots_from && i < s->spots.n / sizeof(struct spot)
               ? (struct spot *)(void *)s->spots.p + i
               : NULL;
}

static bool is_ascii(str text)
{
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] >= 0x80)
            return false;
    return true;
}

static void spot_add(struct cites *s, struct arena *a, struct spot spot)
{
    piece_add_max(&s->spots, a, (str){(const char *)&spot, sizeof spot}, SPOTS_SIZE_MAX);
}

static void spots_add(struct cites *s, struct arena *a, str text)
{
    if (s->spots.n == 0) { /* all before was ASCII */
        s->spots_from = s->bytes / SPOT;
        spot_add(s,
                 a,
                 (struct spot){.chars = (uint32_t)(s->spots_from * SPOT),
                               .starts = ((uint32_t)1 << s->bytes % SPOT) - 1});
    }
    for (size_t i = 0; i < text.n && !s->spots.full; i++) {
        uint64_t at = s->bytes + i;
        struct spot *spot = spot_at(s, at);

        if (!spot) {
            spot_add(s, a, (struct spot){.chars = (uint32_t)s->chars});
            spot = spot_at(s, at);
        }
        if (!spot || ((unsigned char)text.p[i] & 0xc0) == 0x80)
            continue;
        spot->starts |= (uint32_t)1 << at % SPOT;
        s->chars++;
    }
}

/* The character that begins at a byte of the answer, or -1. */
static int64_t char_of(const struct cites *s, int64_t byte)
{
    uint64_t at = (uint64_t)byte;
    const struct spot *spot;
    uint32_t bit;

    if (byte < 0 || at > s->bytes || s->spots.full || s->texts != 1)
        return -1;
    if (s->spots.n == 0 || at / SPOT < s->spots_from)
        return byte;
    if (at == s->bytes)
        return (int64_t)s->chars;
    spot = spot_at(s, at);
    bit = (uint32_t)1 << at % SPOT;
    if (!spot || !(spot->starts & bit))
        return -1;
    return (int64_t)spot->chars + __builtin_popcount(spot->starts & (bit - 1));
}

static void count(struct cites *s, struct arena *a, const struct chat_event *ev)
{
    if (s->chars == s->from && ev->text.n)
        s->texts++;
    if (ev->dialect == CHAT_ANTHROPIC)
        s->chars += utf8_count(ev->text);
    else if (s->spots.n || !is_ascii(ev->text))
        spots_add(s, a, ev->text);
    else
        s->chars += ev->text.n;
    s->bytes += ev->text.n;
}

/* ---- annotations ---- */

/* What an annotation is put together from. */
struct cited {
    struct cites *s;
    struct arena *a;
    struct arena scratch; /* for the annotation at hand */
    struct json doc;
    int64_t start, end; /* characters, or -1 */
    size_t looked_up;
};

static bool cited_init(struct cited *c, struct cites *s, struct arena *a, const struct piece *json)
{
    struct err e;

    *c = (struct cited){.s = s, .a = a, .start = -1, .end = -1};
    arena_init(&c->scratch, SCRATCH_SIZE_MAX);
    json_init(&c->doc);
    return !json->full && json_parse(&c->doc, piece_str(json), &e);
}

static void cited_release(struct cited *c)
{
    json_release(&c->doc);
    arena_release(&c->scratch);
}

static void list_add(struct piece *list, struct arena *a, str json)
{
    piece_add_max(list, a, list->n ? STR(",") : STR("["), HEARD_SIZE_MAX);
    piece_add_max(list, a, json, HEARD_SIZE_MAX);
}

static bool is_link(str url)
{
    return str_starts(url, STR("https://")) || str_starts(url, STR("http://"));
}

static void note_begin(struct json_out *o, struct buf *b, const char *type)
{
    buf_init(b, HEARD_SIZE_MAX);
    json_out_init(o, b);
    json_out_object(o);
    json_member_str(o, "type", str_c(type));
}

static void note_end(struct cited *c, struct json_out *o)
{
    json_out_end(o);
    if (!buf_full(o->buf))
        list_add(&c->s->due, c->a, buf_str(o->buf));
    buf_release(o->buf);
    arena_reset(&c->scratch);
}

static void note_url(struct cited *c, str url, str title)
{
    struct json_out o;
    struct buf b;

    if (url.n == 0)
        return;
    note_begin(&o, &b, "url_citation");
    if (c->start >= 0 && c->end >= c->start) {
        json_member_i64(&o, "start_index", c->start);
        json_member_i64(&o, "end_index", c->end);
    }
    say_some(&o, "title", title);
    json_member_str(&o, "url", url);
    note_end(c, &o);
}

/* ---- Anthropic ---- */

static void note_file(struct cited *c, const struct json_node *v)
{
    str id = member_text(&c->doc, v, "file_id", &c->scratch);
    int64_t index = member_count(&c->doc, v, "document_index");
    struct json_out o;
    struct buf b;

    if (id.n == 0)
        return;
    note_begin(&o, &b, "file_citation");
    json_member_str(&o, "file_id", id);
    say_some(&o, "filename", member_text(&c->doc, v, "document_title", &c->scratch));
    if (index >= 0)
        json_member_i64(&o, "index", index);
    note_end(c, &o);
}

static void note_citation(struct cited *c, const struct json_node *v)
{
    str title = member_text(&c->doc, v, "title", &c->scratch);
    str source = member_text(&c->doc, v, "source", &c->scratch);

    if (member_is(&c->doc, v, "type", "web_search_result_location"))
        note_url(c, member_text(&c->doc, v, "url", &c->scratch), title);
    else if (member_is(&c->doc, v, "type", "search_result_location") && is_link(source))
        note_url(c, source, title);
    else
        note_file(c, v);
}

/* The block at hand is over. Citations of no text are of none. */
static void block_end(struct cites *s, struct arena *a, bool parts)
{
    uint64_t base = parts ? s->from : 0;
    struct cited c;

    if (!s->held.n || s->chars == s->from)
        return;
    piece_add_max(&s->held, a, STR("]"), HEARD_SIZE_MAX);
    if (cited_init(&c, s, a, &s->held)) {
        c.start = (int64_t)(s->from - base);
        c.end = (int64_t)(s->chars - base);
        for (const struct json_node *v = json_first(&c.doc, json_root(&c.doc)); v;
             v = json_next(&c.doc, json_root(&c.doc), v))
            note_citation(&c, v);
    }
    cited_release(&c);
    piece_reset(&s->held);
}

/* ---- Gemini ---- */

static str text_at(struct cited *c, const struct json_node *v, const char *camel)
{
    str text;

    return json_text(&c->doc, gemini_find(&c->doc, v, camel), &c->scratch, &text) ? text : STR("");
}

/* {startIndex, endIndex}; what is 0 is not always written. */
static void place(struct cited *c, const struct json_node *v)
{
    int64_t start = member_number(&c->doc, gemini_find(&c->doc, v, "startIndex"));
    int64_t end = member_number(&c->doc, gemini_find(&c->doc, v, "endIndex"));

    c->start = end < 0 ? -1 : char_of(c->s, start < 0 ? 0 : start);
    c->end = end < 0 ? -1 : char_of(c->s, end);
}

/* {web | maps | retrievedContext: {uri, title}} */
static void note_chunk(struct cited *c, const struct json_node *chunk)
{
    static const char *const kinds[] = {"web", "maps", "retrievedContext"};

    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        const struct json_node *v = gemini_find(&c->doc, chunk, kinds[i]);
        str uri = text_at(c, v, "uri");

        if (uri.n && (i == 0 || is_link(uri))) {
            note_url(c, uri, text_at(c, v, "title"));
            return;
        }
    }
}

static void note_supports(struct cited *c, const struct json_node *chunks,
                          const struct json_node *supports)
{
    for (const struct json_node *v = json_first(&c->doc, supports); v;
         v = json_next(&c->doc, supports, v)) {
        const struct json_node *which = gemini_find(&c->doc, v, "groundingChunkIndices");

        place(c, gemini_find(&c->doc, v, "segment"));
        for (const struct json_node *i = json_first(&c->doc, which);
             i && which->kind == JSON_ARRAY && c->looked_up++ < CHUNKS_MAX;
             i = json_next(&c->doc, which, i)) {
            int64_t n = member_number(&c->doc, i);

            if (n >= 0 && n < CHUNKS_MAX)
                note_chunk(c, json_at(&c->doc, chunks, (size_t)n));
        }
    }
}

static void note_grounding(struct cited *c, const struct json_node *root)
{
    const struct json_node *chunks = gemini_find(&c->doc, root, "groundingChunks");
    const struct json_node *supports = gemini_find(&c->doc, root, "groundingSupports");

    if (!chunks || chunks->kind != JSON_ARRAY)
        return;
    if (supports && supports->kind == JSON_ARRAY && json_first(&c->doc, supports)) {
        note_supports(c, chunks, supports);
        return;
    }
    for (const struct json_node *v = json_first(&c->doc, chunks); v;
         v = json_next(&c->doc, chunks, v))
        note_chunk(c, v);
}

/* The Gemini API calls them citationSources, Vertex citations. */
static void note_sources(struct cited *c, const struct json_node *root)
{
    const struct json_node *list = gemini_find(&c->doc, root, "citationSources");

    if (!list)
        list = gemini_find(&c->doc, root, "citations");
    for (const struct json_node *v = list && list->kind == JSON_ARRAY ? json_first(&c->doc, list)
                                                                      : NULL;
         v;
         v = json_next(&c->doc, list, v)) {
        place(c, v);
        note_url(c, text_at(c, v, "uri"), text_at(c, v, "title"));
    }
}

static void metadata_end(struct cites *s, struct arena *a, struct piece *said,
                         void (*note)(struct cited *c, const struct json_node *root))
{
    struct cited c;

    if (!said->n)
        return;
    if (cited_init(&c, s, a, said))
        note(&c, json_root(&c.doc));
    cited_release(&c);
    piece_reset(said);
}

/* Said again with later chunks, more of it each time; but some end with one that has no sources. */
static void metadata(struct piece *said, struct arena *a, str json, const char *sources)
{
    if (said->n && str_find(json, str_c(sources)) == STR_NONE)
        return;
    piece_reset(said);
    piece_add_max(said, a, json, HEARD_SIZE_MAX);
}

/* ---- what is heard ---- */

bool cite_beside(const struct chat_event *ev)
{
    return ev->kind == CHAT_OPAQUE &&
           (str_eq(ev->name, STR("citation")) || str_eq(ev->name, STR("annotations")));
}

/* Another block begins, unless it is the one that citations have come for already. */
static void block_begin(struct cites *s, struct arena *a, const struct chat_event *ev, bool parts)
{
    if (s->begun && s->block == ev->block)
        return;
    if (s->begun && s->chars > s->from) {
        block_end(s, a, parts);
        s->from = s->chars;
    }
    s->begun = true;
    s->block = ev->block;
}

static void hear(struct cites *s, struct arena *a, const struct chat_event *ev, bool parts)
{
    switch (ev->kind) {
    case CHAT_TEXT:
        block_begin(s, a, ev, parts);
        count(s, a, ev);
        break;
    case CHAT_OPAQUE:
        if (ev->dialect == CHAT_ANTHROPIC && cite_beside(ev)) {
            block_begin(s, a, ev, parts);
            list_add(&s->held, a, ev->text);
        }
        break;
    case CHAT_EXTRA:
        if (ev->dialect != CHAT_GEMINI)
            break;
        if (str_eq(ev->name, STR("groundingMetadata")) ||
            str_eq(ev->name, STR("grounding_metadata")))
            metadata(&s->grounding, a, ev->text, "hunks\"");
        else if (str_eq(ev->name, STR("citationMetadata")) ||
                 str_eq(ev->name, STR("citation_metadata")))
            metadata(&s->cited, a, ev->text, "uri\"");
        break;
    case CHAT_CALL:
    case CHAT_REASONING:
    case CHAT_STOP:
    case CHAT_END:
        block_end(s, a, parts);
        break;
    default:
        break;
    }
}

/* ---- for Gemini ---- */

static bool same_link(const struct json *doc, const struct json_node *v, str url)
{
    return json_is(doc, json_find(doc, v, STR("url")), url);
}

/* {groundingChunks: [{web: {uri, title}}]} of annotations, each page once; "" if there is none. */
static void chunks_write(struct cited *c, const struct json_node *list, struct buf *out)
{
    size_t n = 0;
    struct json_out o;

    json_out_init(&o, out);
    json_out_object(&o);
    json_out_key(&o, STR("groundingChunks"));
    json_out_array(&o);
    for (const struct json_node *v = json_first(&c->doc, list); v && n < CHUNKS_MAX;
         v = json_next(&c->doc, list, v)) {
        str url = member_text(&c->doc, v, "url", &c->scratch);
        const struct json_node *u = json_first(&c->doc, list);

        while (u != v && !same_link(&c->doc, u, url))
            u = json_next(&c->doc, list, u);
        if (u != v || url.n == 0)
            continue;
        json_out_object(&o);
        json_out_key(&o, STR("web"));
        json_out_object(&o);
        json_member_str(&o, "uri", url);
        say_some(&o, "title", member_text(&c->doc, v, "title", &c->scratch));
        json_out_end(&o);
        json_out_end(&o);
        n++;
    }
    json_out_end(&o);
    json_out_end(&o);
    if (n == 0)
        buf_reset(out);
}

/* Annotations of OpenAI's dialects: their pages. */
static void links_add(struct cites *s, struct arena *a, str list)
{
    struct piece said = {0};
    struct cited c;

    piece_add_max(&said, a, list, HEARD_SIZE_MAX);
    if (cited_init(&c, s, a, &said) && json_root(&c.doc)->kind == JSON_ARRAY)
        for (const struct json_node *v = json_first(&c.doc, json_root(&c.doc)); v;
             v = json_next(&c.doc, json_root(&c.doc), v)) {
            const struct json_node *box = member_find(&c.doc, v, "url_citation");

            if (member_is(&c.doc, v, "type", "url_citation"))
                note_url(&c,
                         member_text(&c.doc, box ? box : v, "url", &c.scratch),
                         member_text(&c.doc, box ? box : v, "title", &c.scratch));
        }
    cited_release(&c);
}

bool cite_ground(struct cites *s, struct arena *a, const struct chat_event *ev, str *json)
{
    bool good = false;
    struct cited c;
    struct buf out;

    if (ev->choice != 0 || ev->dialect == CHAT_GEMINI)
        return false;
    if (ev->kind != CHAT_STOP && ev->kind != CHAT_END) {
        if (ev->dialect == CHAT_ANTHROPIC)
            hear(s, a, ev, false);
        else if ((ev->kind == CHAT_EXTRA && str_eq(ev->name, STR("message.annotations"))) ||
                 (ev->kind == CHAT_OPAQUE && cite_beside(ev)))
            links_add(s, a, ev->text);
        return false;
    }
    block_end(s, a, false);
    if (!s->due.n)
        return false;
    piece_add_max(&s->due, a, STR("]"), HEARD_SIZE_MAX);
    buf_init(&out, 2 * HEARD_SIZE_MAX);
    if (cited_init(&c, s, a, &s->due)) {
        chunks_write(&c, json_root(&c.doc), &out);
        *json = buf_full(&out) ? STR("") : piece_dup(a, buf_str(&out));
        good = json->n > 0;
    }
    cited_release(&c);
    buf_release(&out);
    piece_reset(&s->due);
    return good;
}

bool cite_hear(struct cites *s, struct arena *a, const struct chat_event *ev, bool parts, str *list)
{
    bool last = ev->kind == CHAT_STOP || ev->kind == CHAT_END, good;

    if ((ev->dialect != CHAT_ANTHROPIC && ev->dialect != CHAT_GEMINI && !last) || ev->choice != 0)
        return false;
    hear(s, a, ev, parts);
    if (last) {
        metadata_end(s, a, &s->grounding, note_grounding);
        metadata_end(s, a, &s->cited, note_sources);
    }
    if (!s->due.n || !(last || parts))
        return false;
    piece_add_max(&s->due, a, STR("]"), HEARD_SIZE_MAX);
    *list = piece_str(&s->due);
    good = !s->due.full;
    piece_reset(&s->due); /* what it had stays there until more is added */
    return good;
}
