/* images.h - converts images that a model generated from one dialect to another.
 *
 *     Gemini     a part {inlineData: {mimeType, data}}
 *     Responses  an item {type: image_generation_call, output_format, result}
 *     Chat       images: [{type: image_url, image_url: {url: "data:..."}}], as OpenRouter has it
 *
 * An encoder of Chat or Gemini asks for each event whether it is an image of another dialect, and
 * encodes the converted events in its place:
 *
 *     if (image_needs_conversion(ev, CHAT_OPENAI))
 *         image_convert(ev, CHAT_OPENAI, (struct chat_sink){encode, en});
 *
 * Images inside reasoning, and images given only by an address, are not converted.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "chat/chat.h"

bool image_needs_conversion(const struct chat_event *ev, enum chat_dialect to);
/* Emits an event for each image of an event that image_needs_conversion returned true for. */
void image_convert(const struct chat_event *ev, enum chat_dialect to, struct chat_sink sink);
