// ws.mjs - as much of a WebSocket server as a dashboard needs. SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";

function frame(text) {
  const body = Buffer.from(text);
  const head = body.length < 126 ? Buffer.from([0x81, body.length]) : body.length < 65536 ? Buffer.from([0x81, 126, body.length >> 8, body.length & 255]) : Buffer.alloc(10);
  if (head.length === 10) {
    head[0] = 0x81;
    head[1] = 127;
    head.writeBigUInt64BE(BigInt(body.length), 2);
  }
  return Buffer.concat([head, body]);
}

// Whole frames of a client, small ones: [opcode, text].
function* frames(state) {
  for (;;) {
    const b = state.rest;
    if (b.length < 6) return;
    let size = b[1] & 127, at = 2;
    if (size === 126) {
      size = b.readUInt16BE(2);
      at = 4;
    }
    if (b.length < at + 4 + size) return;
    const mask = b.subarray(at, at + 4);
    const body = Buffer.from(b.subarray(at + 4, at + 4 + size)).map((c, i) => c ^ mask[i & 3]);
    state.rest = b.subarray(at + 4 + size);
    yield [b[0] & 15, body.toString()];
  }
}

export function accept(request, socket, onMessage, onClose) {
  const key = createHash("sha1").update(`${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
  const state = { rest: Buffer.alloc(0) };
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${key}\r\n\r\n`);
  socket.on("data", (piece) => {
    state.rest = Buffer.concat([state.rest, piece]);
    for (const [opcode, text] of frames(state)) {
      if (opcode === 8) socket.end();
      if (opcode === 1) onMessage(JSON.parse(text));
    }
  });
  socket.on("close", onClose);
  socket.on("error", onClose);
  return { send: (m) => socket.writable && socket.write(frame(JSON.stringify({ timestamp_us: Date.now() * 1000, ...m }))), end: () => socket.destroy() };
}
