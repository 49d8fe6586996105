import { type ByteRange, parseRange } from '../../../core/text/byte-range.ts';
import type { Batch } from '../../../domain/batches/batch.ts';
import { type LineQuery, placeBefore, readLines, sizeLines } from '../../../domain/batches/result-lines.ts';
import { LARGE_RESULT_BYTES } from '../../../domain/jobs/payloads.ts';
import { flushed } from '../../../http/floods/answer-budget.ts';
import { sendBody, writeHead } from '../../exchange.ts';
import type { QueueCall } from '../queue-call.ts';

const LINES_AT_ONCE = 500;
const BYTES_AT_ONCE = 256 * 1024;

/** Lines that are read and sent together. */
interface Group {
  first: number;
  last: number;
  bytes: number;
}

/** Yields the lines after a request in groups, the sizes known before anything is read. */
async function* groupsAfter(call: QueueCall, of: LineQuery, after: number, limit: number): AsyncGenerator<Group> {
  let [last, left] = [after, limit];
  while (left > 0) {
    const sizes = await sizeLines(call.plane.pool, of, last, Math.min(LINES_AT_ONCE, left));
    let group: Group | undefined;
    for (const { number, bytes } of sizes) {
      if (group && group.bytes + bytes > BYTES_AT_ONCE) {
        yield group;
        group = undefined;
      }
      group = { first: group?.first ?? number, last: number, bytes: (group?.bytes ?? 0) + bytes };
    }
    if (group) yield group;
    if (sizes.length < Math.min(LINES_AT_ONCE, left)) return;
    last = sizes.at(-1)!.number;
    left -= sizes.length;
  }
}

/** Reads a group and writes what `render` makes of it, as fast as the client reads; a large one once there is memory for it. */
async function writeGroup(
  call: QueueCall,
  of: LineQuery,
  group: Group,
  render: (lines: string) => string | Buffer,
): Promise<void> {
  const { plane, res, actor } = call;
  const write = async () => void res.write(render(await readLines(plane.pool, of, group.first, group.last)));
  if (group.bytes > LARGE_RESULT_BYTES) {
    await plane.answers.hold(res, { bytes: group.bytes, userId: actor.userId }, write);
    return;
  }
  await write();
  await flushed(res);
}

/** A page of requests in the shape of the original: each with its state and, once it ended, its result. */
export async function sendPage(
  call: QueueCall,
  batch: Batch,
  page: { after: number; offset: number; limit: number },
): Promise<void> {
  const { res } = call;
  const of: LineQuery = { id: batch.id, status: batch.status, onlyEnded: false };
  writeHead(res, 200, ['content-type', 'application/json']);
  res.write('{"requests":[');
  let comma = '';
  for await (const group of groupsAfter(call, of, page.after, page.limit)) {
    if (res.destroyed) return;
    await writeGroup(call, of, group, (lines) => {
      const text = comma + lines.trimEnd().replaceAll('\n', ',');
      comma = ',';
      return text;
    });
  }
  const { offset, limit } = page;
  const hasMore = offset + limit < batch.accepted;
  res.end(`],"total":${batch.accepted},"offset":${offset},"limit":${limit},"hasMore":${hasMore}}`);
}

/**
 * The results as JSON lines, by number. Those of an ended batch never change, so that a part of them can be asked for; of one
 * that runs, what has ended so far.
 */
export async function sendResults(call: QueueCall, batch: Batch): Promise<void> {
  const { res, req, plane } = call;
  const of: LineQuery = { id: batch.id, status: batch.status, onlyEnded: true };
  const headers = [
    'content-type',
    'application/x-ndjson',
    'content-disposition',
    `attachment; filename="${batch.id}.jsonl"`,
  ];
  const range = batch.endedAt === null ? undefined : wantedRange(req.headers, batch);
  const marks = range === undefined ? null : await plane.resultMarks.find(plane.pool, of);
  const part = marks && parseRange(range, marks.totalBytes);
  if (batch.endedAt !== null) headers.push('accept-ranges', 'bytes', 'etag', etagOf(batch));
  if (marks === null || part === null) {
    writeHead(res, 200, headers);
    await sendBytes(call, of, { after: 0, at: 0 }, null);
    return;
  }
  if (part === 'behind') return sendUnsatisfiable(call, marks.totalBytes);
  const { start, end } = part;
  const contentRange = `bytes ${start}-${end - 1}/${marks.totalBytes}`;
  writeHead(res, 206, [...headers, 'content-range', contentRange, 'content-length', String(end - start)]);
  await sendBytes(call, of, placeBefore(marks, start), part);
}

/** Sends the lines from a place on, of `part` only the bytes in it. */
async function sendBytes(
  call: QueueCall,
  of: LineQuery,
  place: { after: number; at: number },
  part: ByteRange | null,
): Promise<void> {
  const { res } = call;
  let { at } = place;
  for await (const group of groupsAfter(call, of, place.after, Number.MAX_SAFE_INTEGER)) {
    if (res.destroyed || (part && at >= part.end)) break;
    const from = at;
    at += group.bytes;
    if (part && at <= part.start) continue;
    await writeGroup(call, of, group, (lines) => {
      if (part === null || (from >= part.start && at <= part.end)) return lines;
      return Buffer.from(lines).subarray(Math.max(0, part.start - from), part.end - from);
    });
  }
  res.end();
}

/** Undefined: all of it, also for a part of results that have changed. */
function wantedRange({ range, 'if-range': condition }: QueueCall['req']['headers'], batch: Batch): string | undefined {
  return condition === undefined || condition === etagOf(batch) ? range : undefined;
}

function etagOf({ id, endedAt }: Batch): string {
  return `"${id}-${endedAt?.getTime()}"`;
}

function sendUnsatisfiable({ res }: QueueCall, totalBytes: number): void {
  const detail = `the results have ${totalBytes} bytes`;
  const problem = { status: 416, title: 'Range Not Satisfiable', detail, error: detail };
  const headers = ['content-range', `bytes */${totalBytes}`];
  sendBody(res, 416, 'application/problem+json', JSON.stringify(problem), headers);
}
