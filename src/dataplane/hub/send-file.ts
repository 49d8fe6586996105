import type { IncomingMessage } from 'node:http';
import { Failure } from '../../core/errors.ts';
import { sendBytes } from '../../core/flow/send-bytes.ts';
import { taken } from '../../core/flow/taken.ts';
import { parseRange } from '../../core/text/byte-range.ts';
import type { HubFile } from '../../models/hub/hub-client.ts';
import type { Known } from '../../models/hub/pull-through-hub.ts';
import { ageHeaders, type HubCall } from './hub-call.ts';
import type { HubRoute } from './hub-route.ts';

type FileRoute = Extract<HubRoute, { kind: 'file' }>;

/** Answers GET and HEAD of a file as the hub does, but with its content where the hub redirects. */
export async function sendFile(call: HubCall, route: FileRoute): Promise<void> {
  const { req, res, hub, reader } = call;
  const known = await hub.file(reader, route);
  if (res.destroyed) return;
  const { value } = known;
  if (req.headers['if-match'] !== undefined && !names(req.headers['if-match'], value.etag)) {
    answer(call, known, 412, ['content-length', '0']);
  } else if (req.headers['if-none-match'] !== undefined && names(req.headers['if-none-match'], value.etag)) {
    answer(call, known, 304, []);
  } else if (value.size === null) {
    await pass(call, route, known);
  } else {
    await sendPart(call, route, known, value.size);
  }
}

async function sendPart(call: HubCall, route: FileRoute, known: Known<HubFile>, size: number): Promise<void> {
  const { req, res, hub, reader, metrics } = call;
  const range = parseRange(rangeFor(req.headers, known.value) ?? undefined, size);
  if (range === 'behind') {
    answer(call, known, 416, ['content-range', `bytes */${size}`, 'content-length', '0']);
    return;
  }
  const part = range ?? { start: 0, end: size };
  const status = range ? 206 : 200;
  const head = [
    ...['content-length', String(part.end - part.start)],
    ...(range ? ['content-range', `bytes ${part.start}-${part.end - 1}/${size}`] : []),
  ];
  if (req.method === 'HEAD') {
    answer(call, known, status, head);
    return;
  }
  const content = await hub.content(reader, route, { known, from: part.start });
  if (content === null) {
    await pass(call, route, known);
    return;
  }
  const begin = () => {
    (content.isStored ? metrics.hub.hits : metrics.hub.misses).add();
    start(call, known, status, head);
  };
  const read = async (buffer: Buffer, at: number) => {
    const bytesRead = await content.read(buffer, at); // what cannot be had is refused with a sentence
    if (at === part.start && !res.destroyed) begin();
    metrics.hub.servedBytes.add(bytesRead);
    return bytesRead;
  };
  try {
    if (part.start === part.end) begin();
    const length = part.end - part.start;
    await sendBytes(res, { start: part.start, length, read });
    if (!res.destroyed) res.end();
  } finally {
    await content.close();
  }
}

/** Sends what is not kept: a file that does not fit, or one whose digest the hub does not give. */
async function pass(call: HubCall, route: FileRoute, known: Known<HubFile>): Promise<void> {
  const { req, res, hub, reader, signal, metrics } = call;
  const range = rangeFor(req.headers, known.value);
  const response = await hub.pass(reader, route, known.value.commit, { range, signal });
  try {
    const head = checkPassed(response);
    metrics.hub.misses.add();
    if (req.method === 'HEAD') return void answer(call, known, response.statusCode!, head);
    start(call, known, response.statusCode!, head);
    for await (const chunk of response as AsyncIterable<Buffer>) {
      if (res.destroyed) return;
      metrics.hub.fetchedBytes.add(chunk.length);
      metrics.hub.servedBytes.add(chunk.length);
      if (!res.write(chunk)) await taken(res);
    }
    if (!response.complete) throw new Error('the hub ended its answer too early');
    res.end();
  } finally {
    response.destroy();
  }
}

function checkPassed({ statusCode = 0, headers }: IncomingMessage): string[] {
  const length = headers['content-length'];
  const range = headers['content-range'];
  if (statusCode === 200 || statusCode === 206 || statusCode === 416) {
    return [
      ...(length === undefined ? [] : ['content-length', length]),
      ...(range === undefined ? [] : ['content-range', range]),
    ];
  }
  throw new Failure('badGateway', `the hub answered with status ${statusCode} for a file that it has`);
}

/** Answers without a body, or a HEAD. */
function answer(call: HubCall, known: Known<HubFile>, status: number, head: string[]): void {
  start(call, known, status, head);
  call.res.end();
}

function start({ res, clock }: HubCall, known: Known<HubFile>, status: number, head: string[]): void {
  const { etag, commit, size, type } = known.value;
  res.writeHead(status, [
    ...['etag', `"${etag}"`, 'x-linked-etag', `"${etag}"`, 'x-repo-commit', commit],
    ...(size === null ? [] : ['x-linked-size', String(size)]),
    ...['accept-ranges', 'bytes', ...(status === 304 ? [] : ['content-type', type])],
    ...head,
    ...ageHeaders(known, clock),
  ]);
}

function rangeFor(headers: HubCall['req']['headers'], { etag }: HubFile): string | null {
  const condition = headers['if-range'];
  const { range } = headers;
  if (range === undefined || !/^bytes=[\d, -]{1,200}$/.test(range)) return null;
  return condition === undefined || names(String(condition), etag) ? range : null;
}

/** True when a condition names the content, or any. */
function names(condition: string, etag: string): boolean {
  return condition
    .split(',')
    .some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '').replaceAll('"', '') === etag);
}
