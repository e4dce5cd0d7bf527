/* citations.h - what a text was taken from, and how likely its tokens were, between dialects.
 *
 * The two of OpenAI say the same in other boxes:
 *
 *     Chat       annotations: [{type: url_citation, url_citation: {url, ...}}]
 *                logprobs: {content: [TOKEN, ...]}
 *     Responses  annotations: [{type: url_citation, url, ...}]   logprobs: [TOKEN, ...]
 *
 * Anthropic has citations in its text blocks, Gemini lists of sources beside the answer with places
 * in it, in bytes. Whoever writes one of OpenAI's dialects gives every event to a struct citations:
 *
 *     if (citations_convert(&s->cites, arena, ev, false, &list))    write the list before ev
 *
 * Anthropic's web_search_result_location, and search_result_location where its source is a URL,
 * become url_citation over the text of their block; document locations with a file_id become
 * file_citation. Gemini's groundingSupports become one url_citation for each of their chunks,
 * groundingChunks without supports and citationMetadata the same. Places are characters; where they
 * cannot be known (several texts, of which Gemini does not say which) there are none. For Gemini's
 * clients, pages that others cite are groundingChunks. What has no
 * counterpart is left out, and nothing is made up: so nobody else's citation becomes Anthropic's,
 * which has to carry the text that was cited and a key of Anthropic's own to it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "chat/chat.h"
#include "wire/arena_text.h"

/* An event of the Responses dialect as one of Chat, if it is one of these; its text is then in the
 * arena. */
bool citation_to_chat(const struct chat_event *ev, struct arena *a,
                      struct chat_event *out) MUST_USE;
/* Annotations of either dialect: the nth as Responses has it, on one line; false: there are no
 * more, or it is one that it does not have. */
bool citation_write(const struct json *doc, const struct json_node *v, struct buf *out) MUST_USE;
/* The tokens of Chat's logprobs, commas between, on one line; "" if there are none. */
str citation_tokens(str json, struct arena *a);

/* Of a reply that is written. All zeroes at first; nothing is allocated before a citation comes, or
 * a text of Gemini's that is not ASCII. */
struct citations {
    uint64_t bytes, chars; /* of the answer so far */
    uint64_t from;         /* characters before the block at hand */
    uint32_t block, texts; /* its number; how many blocks had text */
    bool begun;
    struct arena_text held; /* Anthropic's citations of the block at hand: an open list */
    struct arena_text due;  /* annotations of Responses, likewise */
    struct arena_text grounding, cited; /* what Gemini said last */
    struct arena_text spots; /* where its characters begin, from the first stretch on that is
                                      not ASCII */
    uint64_t spots_from;
};

/* Whether an OPAQUE event stands beside the text of its block, and is no block of its own. */
bool citation_is_beside_text(const struct chat_event *ev);
/* Hears an event of a reply. True: *list, lent until the next, has annotations as Responses has
 * them that are to go out before the event: at the end of each block, places counted from where it
 * begins (`parts`), or all of them at the end of the reply, counted from where its answer begins.
 */
bool citations_convert(struct citations *s, struct arena *a, const struct chat_event *ev,
                       bool parts, str *list) MUST_USE;
/* Hears the same for Gemini: *json is its groundingMetadata, due before the event. Only the pages,
 * each once: of places it would want to know in which part they are, in bytes. */
bool citations_to_gemini(struct citations *s, struct arena *a, const struct chat_event *ev,
                         str *json) MUST_USE;
/* The same list as Chat has it; "" if nothing of it is there. */
str citations_to_chat(str annotations, struct arena *a);
