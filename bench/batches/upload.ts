/** Uploads `count` requests of `bytes` bytes to a batch: a program of its own, so that it delays no measurement. */
import { once } from 'node:events';
import { request } from 'node:http';
import { parseArgs } from 'node:util';

const LINES_A_WRITE = 500;

const { values } = parseArgs({
  options: { url: { type: 'string' }, key: { type: 'string' }, count: { type: 'string' }, bytes: { type: 'string' } },
});
const [count, bytes] = [Number(values.count), Number(values.bytes)];

/** A line with its line break. */
function lineOf(number: number): string {
  const start = `{"input":{"n":${number},"text":"`;
  return `${start}${'x'.repeat(Math.max(0, bytes - start.length - 4))}"}}\n`;
}

const headers = { authorization: `Bearer ${values.key}`, 'content-type': 'application/x-ndjson' };
const req = request(values.url!, { method: 'POST', headers });
const answered = once(req, 'response');
const startedAt = performance.now();
for (let at = 0; at < count; at += LINES_A_WRITE) {
  const lines = Array.from({ length: Math.min(LINES_A_WRITE, count - at) }, (_, i) => lineOf(at + i)).join('');
  if (!req.write(lines)) await once(req, 'drain');
}
req.end();
const [response] = await answered;
let text = '';
for await (const chunk of response) text += chunk;
const seconds = (performance.now() - startedAt) / 1000;
process.stdout.write(`${JSON.stringify({ status: response.statusCode, seconds, answer: JSON.parse(text) })}\n`);
