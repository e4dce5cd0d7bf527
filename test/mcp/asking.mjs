// What both SDK clients are asked to do with our server, and the server itself for the HTTP runs.
// SPDX-License-Identifier: Apache-2.0
import { spawn } from "node:child_process";

export const BINARY = process.env.RATIONALE;

/** Starts `rationale mcp --http` on some port; gives its URL and a way to end it. */
export async function serveHttp() {
  const child = spawn(BINARY, ["mcp", "--http", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  for await (const piece of child.stdout) {
    said += piece;
    if (said.includes("\n")) break;
  }
  return { url: new URL(said.trim().split(" ").pop()), stop: () => child.kill() };
}

/** Lists and calls with a client that is connected; the last line says what it saw. */
export async function tryOut(client, version) {
  const { tools } = await client.listTools();
  const answer = await client.callTool({
    name: "split_text",
    arguments: { text: "<think>because</think>answer" },
  });
  const wrong = await client.callTool({ name: "split_text", arguments: {} });
  console.log(
    JSON.stringify({
      version,
      tools: tools.map((tool) => tool.name),
      structured: answer.structuredContent,
      wrong: wrong.isError === true,
    }),
  );
}
