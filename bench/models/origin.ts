/** A hub in a process of its own: answers every GET with as many bytes as `?bytes=` or the file's name says, and `/sent` with all it sent. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BLOCK } from './content.ts';

let sent = 0;
const server = createServer(async (request, response) => {
  if (request.url === '/sent') return response.end(String(sent));
  const size = Number(/\d+$/.exec(request.url!)![0]);
  response.writeHead(200, { 'content-length': size, etag: `"${size}"` });
  for (let at = 0; at < size; at += BLOCK.length) {
    const part = BLOCK.subarray(0, Math.min(BLOCK.length, size - at));
    sent += part.length;
    if (!response.write(part)) await new Promise((resolve) => response.once('drain', resolve));
  }
  return response.end();
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
