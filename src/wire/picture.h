/* picture.h - images that a model drew, from one dialect to another.
 *
 *     Gemini     a part {inlineData: {mimeType, data}}
 *     Responses  an item {type: image_generation_call, output_format, result}
 *     Chat       images: [{type: image_url, image_url: {url: "data:..."}}], as OpenRouter has it
 *
 * Who writes Chat or Gemini asks of each event whether it is an image in other words, and encodes
 * in its place what it is given:
 *
 *     if (picture_in(ev, CHAT_OPENAI))
 *         picture_over(ev, CHAT_OPENAI, (struct chat_sink){encode, en});
 *
 * An image that was only thought of stays in its dialect, and so does one that is known by its
 * address alone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "chat/chat.h"

bool picture_in(const struct chat_event *ev, enum chat_dialect to);
/* Gives the sink an event for each image of one that picture_in was true for. */
void picture_over(const struct chat_event *ev, enum chat_dialect to, struct chat_sink sink);
