import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { testTerminal } from '../../../test/test-terminal.ts';
import type { FolderEntry } from '../../domain/builds/build.ts';
import { readPack } from '../../rest/builds/read-pack.ts';
import { ApiClient } from '../shared/api-client.ts';
import { uploadFiles } from './upload-files.ts';

const KIB = 1024;

let root: string;
let server: Server;
let requests: { method: string; path: string; body: Buffer; range: string | undefined }[];
/** After how many bytes the server cuts the next upload of a large file. */
let cutAfter: number | null;
/** The refusals of the next requests that send files. */
let refusals: [status: number, headers: Record<string, string>, detail?: string][];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podyard-upload-'));
  requests = [];
  refusals = [];
  cutAfter = null;
  let partial: { digest: string; bytes: number }[] = [];
  server = createServer(async (request, response) => {
    if (request.method === 'PUT' && cutAfter !== null) {
      partial = [{ digest: request.url!.split('/').at(-1)!, bytes: cutAfter }];
      cutAfter = null;
      request.once('data', () => request.socket.destroy());
      return;
    }
    const body = await buffer(request);
    if (request.url === '/v2/builds/missing-files') {
      const { files } = JSON.parse(body.toString()) as { files: { digest: string }[] };
      return response.end(JSON.stringify({ missing: files.map(({ digest }) => digest), partial }));
    }
    const refusal = refusals.shift();
    if (refusal) {
      const [status, headers, detail = 'rate limit exceeded'] = refusal;
      return response.writeHead(status, headers).end(JSON.stringify({ detail }));
    }
    requests.push({ method: request.method!, path: request.url!, body, range: request.headers['content-range'] });
    response.writeHead(204).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(async () => {
  server.close();
  await rm(root, { recursive: true });
});

async function upload(contents: Record<string, string>) {
  const entries: FolderEntry[] = [];
  for (const [path, content] of Object.entries(contents)) {
    await writeFile(join(root, path), content);
    const digest = createHash('sha256').update(content).digest('hex');
    entries.push({ path, digest, size: content.length, mode: 0o644 });
  }
  const terminal = testTerminal();
  const progress: string[] = [];
  terminal.progress = (text) => void progress.push(text);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = new ApiClient({ url, key: 'a' }, terminal);
  const notes: string[] = [];
  const note = (text: string) => void notes.push(text);
  return { sent: await uploadFiles(client, root, entries, { terminal, note, print: note }), progress, notes };
}

test('what is sent are the files that are missing', async () => {
  const { sent } = await upload({ a: 'one', b: 'two', large: 'x'.repeat(300 * KIB) });
  expect(sent).toEqual({ files: 3, bytes: 6 + 300 * KIB });
  expect(requests.map(({ method }) => method).sort()).toEqual(['POST', 'PUT']);
  const { files, content } = readPack(requests.find(({ method }) => method === 'POST')!.body);
  expect(content.toString()).toBe('onetwo');
  expect(files).toEqual(['one', 'two'].map((text) => ({ digest: expect.any(String), size: text.length })));
});

test('at the limit of requests it waits as long as it is told, and goes on', async () => {
  refusals = [[429, { 'retry-after': '0' }]];
  const { sent, progress } = await upload({ a: 'one' });
  expect(sent).toEqual({ files: 1, bytes: 3 });
  expect(progress).toContain('the limit of requests is reached: sent again in 0 s');
});

test.each(['too many files', 'too many files.'])(
  'after what the server says, %o, a new sentence begins',
  async (detail) => {
    refusals = [[503, {}, detail]];
    const { notes } = await upload({ a: 'one' });
    expect(notes).toEqual(['! too many files. The upload is tried again for a minute.']);
  },
);

test('what the server waits for, as on a full disk, is said once, also where no progress is shown', async () => {
  refusals = [
    [503, {}],
    [503, {}],
  ];
  const { sent, notes } = await upload({ a: 'one' });
  expect(sent).toEqual({ files: 1, bytes: 3 });
  expect(notes).toEqual(['! rate limit exceeded. The upload is tried again for a minute.']);
});

test('a large file whose upload was cut goes on from where the server has it, and its bytes count as they leave', async () => {
  cutAfter = 100 * KIB;
  const large = 'x'.repeat(200 * KIB) + 'y'.repeat(300 * KIB);
  const { sent, progress } = await upload({ large });
  expect(sent).toEqual({ files: 1, bytes: 500 * KIB });
  const shown = progress.map((text) => Number(/^uploading ([\d.]+) kB of 512\.0 kB: large$/.exec(text)?.[1]));
  expect(shown.some((kilobytes) => kilobytes > 102.4 && kilobytes < 512)).toBe(true);
  expect(shown.at(-1)).toBeNaN(); // the line is cleared
  expect(shown.at(-2)).toBe(512);
  expect(requests).toEqual([expect.objectContaining({ method: 'PUT', range: 'bytes 102400-511999/512000' })]);
  expect(requests[0]!.body.toString()).toBe(large.slice(100 * KIB));
});

test('a refusal that is for good ends it; that of a file that changed names it', async () => {
  refusals = [[403, {}]];
  await expect(upload({ a: 'one' })).rejects.toMatchObject({ status: 403 });
  refusals = [[422, {}]];
  await expect(upload({ large: 'x'.repeat(300 * KIB) })).rejects.toThrow('large changed while it was sent');
});
