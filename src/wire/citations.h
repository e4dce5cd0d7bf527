/* citations.h - converts citations and log-probabilities between dialects.
 *
 * OpenAI's two dialects have the same data in different structures:
 *
 *     Chat       annotations: [{type: url_citation, url_citation: {url, ...}}]
 *                logprobs: {content: [TOKEN, ...]}
 *     Responses  annotations: [{type: url_citation, url, ...}]   logprobs: [TOKEN, ...]
 *
 * Anthropic has citations in its text blocks. Gemini has lists of sources beside the answer, with
 * byte positions in it. An encoder of one of OpenAI's dialects gives every event to a struct
 * citations:
 *
 *     if (citations_convert(&s->cites, arena, ev, false, &list))    write the list before ev
 *
 * Anthropic's web_search_result_location, and search_result_location whose source is a URL, become
 * url_citation over the text of their block; document locations with a file_id become
 * file_citation. Gemini's groundingSupports become one url_citation for each of their chunks, as do
 * groundingChunks without supports and citationMetadata. Positions are in characters; they are
 * omitted if they cannot be known (Gemini does not say which of several texts it means). For
 * Gemini's clients, cited pages become groundingChunks. Anything without a counterpart is dropped,
 * and nothing is invented: so no citation becomes one of Anthropic's, which needs the cited text
 * and a key that only Anthropic has.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "chat/chat.h"
#include "wire/arena_text.h"

/* Converts log-probabilities of any dialect to an event of Chat, and annotations of the Responses
 * dialect; the text of those is then in the arena. */
bool citation_to_chat(const struct chat_event *ev, struct arena *a,
                      struct chat_event *out) MUST_USE;
/* Annotations of either dialect: writes the nth as Responses has it, on one line. False: there are
 * no more, or Responses does not have it. */
bool citation_write(const struct json *doc, const struct json_node *v, struct buf *out) MUST_USE;
/* The tokens of Chat's logprobs, separated by commas, on one line; "" if it has none. */
str citation_tokens(str json, struct arena *a);

/* State of a reply that is written. Initially zero; nothing is allocated before a citation comes,
 * or a Gemini text that is not ASCII. */
struct citations {
    uint64_t bytes, chars; /* of the answer so far */
    uint64_t from;         /* characters before the current block */
    uint32_t block, texts; /* its number; number of blocks with text */
    bool begun;
    struct arena_text held; /* Anthropic's citations of the current block: an open list */
    struct arena_text due;  /* annotations of Responses, likewise */
    struct arena_text grounding, cited; /* Gemini's latest lists */
    struct arena_text spots; /* where its characters begin, from the first part on that is not
                                ASCII */
    uint64_t spots_from;
};

/* Whether an OPAQUE event belongs to the text of its block and is not a separate block. */
bool citation_is_beside_text(const struct chat_event *ev);
/* Reads an event of a reply. True: *list, lent until the next call, has annotations in the
 * Responses form that must be written before the event. With `parts`, at the end of each block,
 * with positions from the start of the block; else all at the end of the reply, with positions from
 * the start of the answer. */
bool citations_convert(struct citations *s, struct arena *a, const struct chat_event *ev,
                       bool parts, str *list) MUST_USE;
/* The same for Gemini: *json is its groundingMetadata, to be written before the event. It has only
 * the pages, each once: Gemini's positions need the part, in bytes. */
bool citations_to_gemini(struct citations *s, struct arena *a, const struct chat_event *ev,
                         str *json) MUST_USE;
/* The same list in the Chat form; "" if none of it can be expressed. */
str citations_to_chat(str annotations, struct arena *a);
