import type { IncomingMessage } from 'node:http';

/** Resolves to the body as text. Throws if it has more bytes than that, and closes the connection. */
export async function readSmallBody(response: IncomingMessage, limitBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limitBytes) throw new Error('its answer is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The body of most redirects, with room to spare. */
const MAX_DISCARDED_BYTES = 2 ** 16;

/** Discards a body, so that its connection can be used again; ends the connection of a larger one. */
export function discardBody(response: IncomingMessage): void {
  readSmallBody(response, MAX_DISCARDED_BYTES).catch(() => {});
}
