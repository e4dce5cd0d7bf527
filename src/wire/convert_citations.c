/* convert_citations.c - citations of Anthropic and Gemini as OpenAI's annotations.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "wire/gemini/gemini.h"

#define HEARD_SIZE_MAX ((size_t)4 << 20)
#define SPOTS_SIZE_MAX ((size_t)1 << 20) /* of answers up to 4 MiB */
#define SPOT 32
#define CHUNKS_MAX 4096 /* of a reply: looked up one by one */
#define SCRATCH_SIZE_MAX ((size_t)64 << 20)

/* ---- starts of characters, to convert byte positions to character positions ---- */

struct spot {
    uint32_t chars;  /* before these bytes */
    uint32_t starts; /* a bit for each byte that begins a character */
};

static struct spot *citations_spot_at(const struct citations *s, uint64_t byte)
{
    uint64_t i = byte / SPOT - s->spots_from;

    return byte / SPOT >= s->spots_from && i < s->spots.n / sizeof(struct spot)
               ? (struct spot *)(void *)s->spots.p + i
               : NULL;
}

static bool citations_is_ascii(str text)
{
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] >= 0x80)
            return false;
    return true;
}

static void citations_spot_add(struct citations *s, struct arena *a, struct spot spot)
{
    arena_text_add_max(&s->spots, a, (str){(const char *)&spot, sizeof spot}, SPOTS_SIZE_MAX);
}

static void citations_spots_add(struct citations *s, struct arena *a, str text)
{
    if (s->spots.n == 0) { /* all before was ASCII */
        s->spots_from = s->bytes / SPOT;
        citations_spot_add(s,
                           a,
                           (struct spot){.chars = (uint32_t)(s->spots_from * SPOT),
                                         .starts = ((uint32_t)1 << s->bytes % SPOT) - 1});
    }
    assert(s->spots.full || s->spots_from <= s->bytes / SPOT);
    for (size_t i = 0; i < text.n && !s->spots.full; i++) {
        uint64_t at = s->bytes + i;
        struct spot *spot = citations_spot_at(s, at);

        if (!spot) {
            citations_spot_add(s, a, (struct spot){.chars = (uint32_t)s->chars});
            spot = citations_spot_at(s, at);
        }
        if (!spot || ((unsigned char)text.p[i] & 0xc0) == 0x80)
            continue;
        spot->starts |= (uint32_t)1 << at % SPOT;
        s->chars++;
    }
}

/* The character that begins at a byte of the answer, or -1. */
static int64_t citations_char_of(const struct citations *s, int64_t byte)
{
    uint64_t at = (uint64_t)byte;
    const struct spot *spot;
    uint32_t bit;

    assert(s->chars <= s->bytes);
    if (byte < 0 || at > s->bytes || s->spots.full || s->texts != 1)
        return -1;
    if (s->spots.n == 0 || at / SPOT < s->spots_from)
        return byte;
    if (at == s->bytes)
        return (int64_t)s->chars;
    spot = citations_spot_at(s, at);
    bit = (uint32_t)1 << at % SPOT;
    if (!spot || !(spot->starts & bit))
        return -1;
    return (int64_t)spot->chars + __builtin_popcount(spot->starts & (bit - 1));
}

static void citations_count(struct citations *s, struct arena *a, const struct chat_event *ev)
{
    assert(s->chars >= s->from);
    if (s->chars == s->from && ev->text.n)
        s->texts++;
    if (ev->dialect == CHAT_ANTHROPIC)
        s->chars += utf8_count(ev->text);
    else if (s->spots.n || !citations_is_ascii(ev->text))
        citations_spots_add(s, a, ev->text);
    else
        s->chars += ev->text.n;
    s->bytes += ev->text.n;
    assert(s->chars <= s->bytes);
}

/* ---- annotations ---- */

/* The data of an annotation. */
struct cited {
    struct citations *s;
    struct arena *a;
    struct arena scratch; /* for the annotation at hand */
    struct json doc;
    int64_t start, end; /* characters, or -1 */
    size_t looked_up;
};

static bool citations_cited_init(struct cited *c, struct citations *s, struct arena *a,
                                 const struct arena_text *json)
{
    struct err e;

    *c = (struct cited){.s = s, .a = a, .start = -1, .end = -1};
    arena_init(&c->scratch, SCRATCH_SIZE_MAX);
    json_init(&c->doc);
    return !json->full && json_parse(&c->doc, arena_text_str(json), &e);
}

static void citations_cited_release(struct cited *c)
{
    json_release(&c->doc);
    arena_release(&c->scratch);
}

static void citations_list_add(struct arena_text *list, struct arena *a, str json)
{
    arena_text_add_max(list, a, list->n ? STR(",") : STR("["), HEARD_SIZE_MAX);
    arena_text_add_max(list, a, json, HEARD_SIZE_MAX);
}

static bool citations_is_link(str url)
{
    return str_starts(url, STR("https://")) || str_starts(url, STR("http://"));
}

static void citations_note_begin(struct json_out *o, struct buf *b, const char *type)
{
    buf_init(b, HEARD_SIZE_MAX);
    json_out_init(o, b);
    json_write_typed(o, type);
}

static void citations_note_end(struct cited *c, struct json_out *o)
{
    assert(o->depth == 1);
    json_out_end(o);
    if (!buf_full(o->buf))
        citations_list_add(&c->s->due, c->a, buf_str(o->buf));
    buf_release(o->buf);
    arena_reset(&c->scratch);
}

static void citations_note_url(struct cited *c, str url, str title)
{
    struct json_out o;
    struct buf b;

    if (url.n == 0)
        return;
    citations_note_begin(&o, &b, "url_citation");
    if (c->start >= 0 && c->end >= c->start) {
        json_member_i64(&o, "start_index", c->start);
        json_member_i64(&o, "end_index", c->end);
    }
    json_write_text(&o, "title", title);
    json_member_str(&o, "url", url);
    citations_note_end(c, &o);
}

/* ---- Anthropic ---- */

static void citations_note_file(struct cited *c, const struct json_node *v)
{
    str id = json_get_text(&c->doc, v, "file_id", &c->scratch);
    int64_t index = json_get_count(&c->doc, v, "document_index");
    struct json_out o;
    struct buf b;

    if (id.n == 0)
        return;
    citations_note_begin(&o, &b, "file_citation");
    json_member_str(&o, "file_id", id);
    json_write_text(&o, "filename", json_get_text(&c->doc, v, "document_title", &c->scratch));
    if (index >= 0)
        json_member_i64(&o, "index", index);
    citations_note_end(c, &o);
}

static void citations_note_citation(struct cited *c, const struct json_node *v)
{
    str title = json_get_text(&c->doc, v, "title", &c->scratch);
    str source = json_get_text(&c->doc, v, "source", &c->scratch);

    if (json_get_is(&c->doc, v, "type", "web_search_result_location"))
        citations_note_url(c, json_get_text(&c->doc, v, "url", &c->scratch), title);
    else if (json_get_is(&c->doc, v, "type", "search_result_location") && citations_is_link(source))
        citations_note_url(c, source, title);
    else
        citations_note_file(c, v);
}

/* Ends the current block. Citations without a text are dropped. */
static void citations_block_end(struct citations *s, struct arena *a, bool parts)
{
    uint64_t base = parts ? s->from : 0;
    struct cited c;

    assert(s->from <= s->chars);
    if (!s->held.n || s->chars == s->from)
        return;
    arena_text_add_max(&s->held, a, STR("]"), HEARD_SIZE_MAX);
    if (citations_cited_init(&c, s, a, &s->held)) {
        c.start = (int64_t)(s->from - base);
        c.end = (int64_t)(s->chars - base);
        JSON_FOREACH(v, &c.doc, json_root(&c.doc))
            citations_note_citation(&c, v);
    }
    citations_cited_release(&c);
    arena_text_reset(&s->held);
}

/* ---- Gemini ---- */

static str citations_text_at(struct cited *c, const struct json_node *v, const char *camel)
{
    str text;

    return json_text(&c->doc, gemini_find(&c->doc, v, camel), &c->scratch, &text) ? text : STR("");
}

/* {startIndex, endIndex}; a 0 may be omitted. */
static void citations_place(struct cited *c, const struct json_node *v)
{
    int64_t start = json_to_count(&c->doc, gemini_find(&c->doc, v, "startIndex"));
    int64_t end = json_to_count(&c->doc, gemini_find(&c->doc, v, "endIndex"));

    c->start = end < 0 ? -1 : citations_char_of(c->s, start < 0 ? 0 : start);
    c->end = end < 0 ? -1 : citations_char_of(c->s, end);
    assert(c->end < 0 || (uint64_t)c->end <= c->s->chars);
}

/* {web | maps | retrievedContext: {uri, title}} */
static void citations_note_chunk(struct cited *c, const struct json_node *chunk)
{
    static const char *const kinds[] = {"web", "maps", "retrievedContext"};

    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        const struct json_node *v = gemini_find(&c->doc, chunk, kinds[i]);
        str uri = citations_text_at(c, v, "uri");

        if (uri.n && (i == 0 || citations_is_link(uri))) {
            citations_note_url(c, uri, citations_text_at(c, v, "title"));
            return;
        }
    }
}

static void citations_note_supports(struct cited *c, const struct json_node *chunks,
                                    const struct json_node *supports)
{
    JSON_FOREACH(v, &c->doc, supports) {
        const struct json_node *which = gemini_find(&c->doc, v, "groundingChunkIndices");

        citations_place(c, gemini_find(&c->doc, v, "segment"));
        for (const struct json_node *i = json_first(&c->doc, which);
             i && which->kind == JSON_ARRAY && c->looked_up++ < CHUNKS_MAX;
             i = json_next(&c->doc, which, i)) {
            int64_t n = json_to_count(&c->doc, i);

            if (n >= 0 && n < CHUNKS_MAX)
                citations_note_chunk(c, json_at(&c->doc, chunks, (size_t)n));
        }
    }
}

static void citations_note_grounding(struct cited *c, const struct json_node *root)
{
    const struct json_node *chunks = gemini_find(&c->doc, root, "groundingChunks");
    const struct json_node *supports = gemini_find(&c->doc, root, "groundingSupports");

    if (!json_is_array(chunks))
        return;
    if (json_is_array(supports) && json_first(&c->doc, supports)) {
        citations_note_supports(c, chunks, supports);
        return;
    }
    JSON_FOREACH(v, &c->doc, chunks)
        citations_note_chunk(c, v);
}

/* The Gemini API calls them citationSources, Vertex citations. */
static void citations_note_sources(struct cited *c, const struct json_node *root)
{
    const struct json_node *list = gemini_find(&c->doc, root, "citationSources");

    if (!list)
        list = gemini_find(&c->doc, root, "citations");
    JSON_FOREACH_ITEM(v, &c->doc, list) {
        citations_place(c, v);
        citations_note_url(c, citations_text_at(c, v, "uri"), citations_text_at(c, v, "title"));
    }
}

static void citations_metadata_end(struct citations *s, struct arena *a, struct arena_text *said,
                                   void (*note)(struct cited *c, const struct json_node *root))
{
    struct cited c;

    if (!said->n)
        return;
    if (citations_cited_init(&c, s, a, said))
        note(&c, json_root(&c.doc));
    citations_cited_release(&c);
    arena_text_reset(said);
}

/* Said again with later chunks, more of it each time; but some end with one that has no sources. */
static void citations_metadata(struct arena_text *said, struct arena *a, str json,
                               const char *sources)
{
    if (said->n && str_find(json, str_c(sources)) == STR_NONE)
        return;
    arena_text_reset(said);
    arena_text_add_max(said, a, json, HEARD_SIZE_MAX);
}

/* ---- events ---- */

bool citation_is_beside_text(const struct chat_event *ev)
{
    return ev->kind == CHAT_OPAQUE &&
           (str_eq(ev->name, STR("citation")) || str_eq(ev->name, STR("annotations")));
}

/* Begins another block, unless citations for it have arrived before. */
static void citations_block_begin(struct citations *s, struct arena *a, const struct chat_event *ev,
                                  bool parts)
{
    assert(s->from <= s->chars);
    if (s->begun && s->block == ev->block)
        return;
    if (s->begun && s->chars > s->from) {
        citations_block_end(s, a, parts);
        s->from = s->chars;
    }
    s->begun = true;
    s->block = ev->block;
}

static void citations_hear(struct citations *s, struct arena *a, const struct chat_event *ev,
                           bool parts)
{
    switch (ev->kind) {
    case CHAT_TEXT:
        citations_block_begin(s, a, ev, parts);
        citations_count(s, a, ev);
        break;
    case CHAT_OPAQUE:
        if (ev->dialect == CHAT_ANTHROPIC && citation_is_beside_text(ev)) {
            citations_block_begin(s, a, ev, parts);
            citations_list_add(&s->held, a, ev->text);
        }
        break;
    case CHAT_EXTRA:
        if (ev->dialect != CHAT_GEMINI)
            break;
        if (str_eq(ev->name, STR("groundingMetadata")) ||
            str_eq(ev->name, STR("grounding_metadata")))
            citations_metadata(&s->grounding, a, ev->text, "hunks\"");
        else if (str_eq(ev->name, STR("citationMetadata")) ||
                 str_eq(ev->name, STR("citation_metadata")))
            citations_metadata(&s->cited, a, ev->text, "uri\"");
        break;
    case CHAT_CALL:
    case CHAT_REASONING:
    case CHAT_STOP:
    case CHAT_END:
        citations_block_end(s, a, parts);
        break;
    default:
        break;
    }
}

/* ---- for Gemini ---- */

/* {groundingChunks: [{web: {uri, title}}]} of annotations, each page once; "" without pages. */
static void citations_chunks_write(struct cited *c, const struct json_node *list, struct buf *out)
{
    struct map seen;
    struct json_out o;
    struct err e;

    map_init(&seen, NULL, CHUNKS_MAX);
    json_out_init_object(&o, out);
    json_member_array(&o, "groundingChunks");
    JSON_FOREACH(v, &c->doc, list) {
        str url = json_get_text(&c->doc, v, "url", &c->scratch);

        if (url.n == 0 || map_find(&seen, url))
            continue;
        if (!map_set(&seen, url, MAP_U64(1), &e))
            break;
        json_out_object(&o);
        json_member_object(&o, "web");
        json_member_str(&o, "uri", url);
        json_write_text(&o, "title", json_get_text(&c->doc, v, "title", &c->scratch));
        json_out_close(&o, 2);
    }
    json_out_close(&o, 2);
    assert(o.depth == 0);
    if (seen.count == 0)
        buf_reset(out);
    map_release(&seen);
}

/* Annotations of OpenAI's dialects: their pages. */
static void citations_links_add(struct citations *s, struct arena *a, str list)
{
    struct arena_text said = {0};
    struct cited c;

    arena_text_add_max(&said, a, list, HEARD_SIZE_MAX);
    if (citations_cited_init(&c, s, a, &said) && json_root(&c.doc)->kind == JSON_ARRAY)
        JSON_FOREACH(v, &c.doc, json_root(&c.doc)) {
            const struct json_node *box = json_get(&c.doc, v, "url_citation");

            if (json_get_is(&c.doc, v, "type", "url_citation"))
                citations_note_url(&c,
                                   json_get_text(&c.doc, box ? box : v, "url", &c.scratch),
                                   json_get_text(&c.doc, box ? box : v, "title", &c.scratch));
        }
    citations_cited_release(&c);
}

bool citations_to_gemini(struct citations *s, struct arena *a, const struct chat_event *ev,
                         str *json)
{
    bool good = false;
    struct cited c;
    struct buf out;

    if (ev->choice != 0 || ev->dialect == CHAT_GEMINI)
        return false;
    if (ev->kind != CHAT_STOP && ev->kind != CHAT_END) {
        if (ev->dialect == CHAT_ANTHROPIC)
            citations_hear(s, a, ev, false);
        else if ((ev->kind == CHAT_EXTRA && str_eq(ev->name, STR("message.annotations"))) ||
                 (ev->kind == CHAT_OPAQUE && citation_is_beside_text(ev)))
            citations_links_add(s, a, ev->text);
        return false;
    }
    citations_block_end(s, a, false);
    if (!s->due.n)
        return false;
    arena_text_add_max(&s->due, a, STR("]"), HEARD_SIZE_MAX);
    buf_init(&out, 2 * HEARD_SIZE_MAX);
    if (citations_cited_init(&c, s, a, &s->due)) {
        citations_chunks_write(&c, json_root(&c.doc), &out);
        *json = buf_full(&out) ? STR("") : arena_text_dup(a, buf_str(&out));
        good = json->n > 0;
    }
    citations_cited_release(&c);
    buf_release(&out);
    arena_text_reset(&s->due);
    return good;
}

bool citations_convert(struct citations *s, struct arena *a, const struct chat_event *ev,
                       bool parts, str *list)
{
    bool last = ev->kind == CHAT_STOP || ev->kind == CHAT_END, good;

    if ((ev->dialect != CHAT_ANTHROPIC && ev->dialect != CHAT_GEMINI && !last) || ev->choice != 0)
        return false;
    citations_hear(s, a, ev, parts);
    if (last) {
        citations_metadata_end(s, a, &s->grounding, citations_note_grounding);
        citations_metadata_end(s, a, &s->cited, citations_note_sources);
    }
    if (!s->due.n || !(last || parts))
        return false;
    arena_text_add_max(&s->due, a, STR("]"), HEARD_SIZE_MAX);
    *list = arena_text_str(&s->due);
    good = !s->due.full;
    arena_text_reset(&s->due); /* its old content stays valid until more is added */
    return good;
}
