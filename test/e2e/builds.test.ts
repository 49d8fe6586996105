import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Recipe } from '../../src/domain/builds/recipe.ts';
import { RECIPE } from '../build-requests.ts';
import { findProcesses } from '../find-processes.ts';
import { GitServer } from '../git-server.ts';
import { Api, ApiError, leaveNothing, until } from './api.ts';
import { ServerProcess } from './server-process.ts';

/** A folder becomes an image, an endpoint runs it, and a server that is killed meanwhile leaves nothing behind. */
let server: ServerProcess;
let api: Api;
beforeAll(async () => {
  server = await ServerProcess.start({ runtime: 'process', env: { PODYARD_WEBHOOK_NETWORKS: '127.0.0.1' } });
  api = new Api(server);
});
afterEach(() => leaveNothing(server, api), 60_000);
afterAll(() => server?.dispose(), 60_000);

interface Build {
  id: string;
  status: string;
  image: string | null;
  reason: string | null;
  startedAt: string | null;
  steps: { name: string; status: string }[];
}

const HANDLER: Recipe = { ...RECIPE, entry: { kind: 'handler', file: 'handler.py', name: 'handler' } };
const handlerWith = (text: string) => `def handler(job):\n    return {"${text}": job["input"]}\n`;
const shell = (text: string): Recipe => ({ ...HANDLER, buildCommand: ['sh', '-c', text] });

async function send(content: string): Promise<void> {
  const digest = createHash('sha256').update(content).digest('hex');
  const response = await fetch(`${server.url}/v2/builds/files/${digest}`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/octet-stream' },
    body: content,
  });
  if (response.status !== 204) throw new ApiError(response.status, await response.text());
}

async function build(content: string, recipe = HANDLER): Promise<Build> {
  await send(content);
  const digest = createHash('sha256').update(content).digest('hex');
  const files = [{ path: 'handler.py', digest, size: Buffer.byteLength(content), mode: 0o644 }];
  return api.call('POST', '/v2/builds', { name: 'app', files, recipe });
}

const read = (id: string): Promise<Build> => api.call('GET', `/v2/builds/${id}`);
const ended = (id: string) =>
  until(`build ${id} ends`, async () => {
    const now = await read(id);
    return ['COMPLETED', 'FAILED', 'CANCELLED'].includes(now.status) && now;
  });
async function logOf(id: string): Promise<string> {
  const response = await fetch(`${server.url}/v2/builds/${id}/logs`, {
    headers: { authorization: `Bearer ${server.key}`, accept: 'application/x-ndjson' },
  });
  return response.text();
}

test('a folder with a handler is built and serves jobs; another line is another release, and a roll-back the former code', async () => {
  const first = await ended((await build(handlerWith('one'))).id);
  expect(first).toMatchObject({ status: 'COMPLETED', reason: null });
  const endpointId = await api.createEndpoint({ image: first.image, workers: { min: 0, max: 1 } });
  expect((await api.runToEnd(endpointId, { a: 1 })).output).toEqual({ one: { a: 1 } });
  const second = await ended((await build(handlerWith('two'))).id);
  await api.patch(endpointId, { image: second.image });
  await until('the new code answers', async () => {
    const { output } = await api.runToEnd(endpointId, 2);
    return JSON.stringify(output) === '{"two":2}';
  });
  const { releases } = await api.call<{ releases: { id: string; version: number; buildId: string }[] }>(
    'GET',
    `/v2/serverless/${endpointId}/releases`,
  );
  expect(releases.map(({ buildId }) => buildId)).toEqual([second.id, first.id]);
  await api.call('POST', `/v2/serverless/${endpointId}/releases/${releases[1]!.id}/rollback`);
  await until('the former code answers', async () => {
    const { output } = await api.runToEnd(endpointId, 3);
    return JSON.stringify(output) === '{"one":3}';
  });
});

test('a push is built, and the endpoint serves its code; a webhook announces the next one', async () => {
  const git = await GitServer.start();
  try {
    await git.push({ 'app/handler.py': handlerWith('one') }, { message: 'First' });
    const endpointId = await api.createEndpoint({ image: 'not/there:yet', workers: { min: 0, max: 1 } });
    const path = `/v2/serverless/${endpointId}/git-source`;
    const source = await api.call<{ webhookUrl: string; webhookSecret: string }>('PUT', path, {
      url: git.url,
      folder: 'app',
    });
    const answers = (text: string) =>
      until(`the endpoint answers ${text}`, async () => {
        const { lastError } = await api.call<{ lastError: string | null }>('GET', path);
        expect(lastError).toBeNull();
        const { image } = await api.call<{ image: string }>('GET', `/v2/serverless/${endpointId}`);
        if (image === 'not/there:yet') return false;
        const { output } = await api.runToEnd(endpointId, 1);
        return JSON.stringify(output) === `{"${text}":1}`;
      });
    await answers('one');
    const commit = await git.push({ 'app/handler.py': handlerWith('two') }, { message: 'Second' });
    const body = JSON.stringify({ ref: 'refs/heads/main', after: commit });
    const signature = createHmac('sha256', source.webhookSecret).update(body).digest('hex');
    const headers = {
      'content-type': 'application/json',
      'x-github-event': 'push',
      'x-hub-signature-256': `sha256=${signature}`,
    };
    const hook = await fetch(source.webhookUrl, { method: 'POST', headers, body });
    expect([hook.status, await hook.json()]).toEqual([202, { look: true, ignored: null }]);
    await answers('two');
    const { releases } = await api.call<{ releases: { diff: { field: string; new: string }[] }[] }>(
      'GET',
      `/v2/serverless/${endpointId}/releases`,
    );
    expect(releases[0]!.diff[0]).toMatchObject({ field: 'commit', new: `${commit.slice(0, 7)} Second (Anna)` });
    expect(await readdir(join(server.dataDir, 'git'))).toEqual([]);
  } finally {
    await git.stop();
  }
});

test('of a build that fails, the step, its exit code and its last lines are told, live and later', async () => {
  const { id } = await build(handlerWith('x'), shell('echo compiling; echo broken >&2; exit 7'));
  const log = await logOf(id); // ends with the build
  const failed = await read(id);
  expect(failed.status).toBe('FAILED');
  expect(failed.reason).toMatch(/^Step 'sh -c echo compiling.* failed with exit code 7\. Its last lines:/);
  expect(failed.steps.at(-1)!.status).toBe('FAILED');
  for (const line of ['"compiling"', '"broken"']) expect(log).toContain(`"text":${line}`);
});

test('a server that is killed while it builds builds once more, and leaves neither processes nor folders', async () => {
  const { id } = await build(handlerWith('x'), shell('echo started; sleep 100'));
  const building = (startedBefore?: string | null) => async () => {
    const { steps, startedAt } = await read(id);
    return startedAt !== startedBefore && steps.some(({ name }) => name.includes('started')) && startedAt;
  };
  const startedAt = await until('it builds', building());
  await server.kill();
  await server.start();
  await until('it builds again', building(startedAt));
  await server.kill();
  await server.start();
  expect(await ended(id)).toMatchObject({
    status: 'FAILED',
    reason: 'the server ended twice while it was built: build it again, or give builds less memory',
  });
  expect(await readdir(join(server.dataDir, 'builds'))).toEqual([]);
  const [installation] = await readdir(join(server.dataDir, 'images'));
  expect(existsSync(join(server.dataDir, 'images', installation!, id))).toBe(false);
  expect(findProcesses(`build-${id}`, 'environ')).toEqual([]);
});

test('a server that is asked to stop builds again after its start', async () => {
  const { id } = await build(handlerWith('x'), shell('echo started; sleep 2'));
  await until('it builds', async () => (await read(id)).steps.some(({ name }) => name.includes('started')));
  await server.stop();
  await server.start();
  expect((await ended(id)).status).toBe('COMPLETED');
});

test('files of several chunks are taken side by side', async () => {
  const content = 'x'.repeat(5 * 2 ** 20);
  await Promise.all(Array.from({ length: 8 }, (_, i) => send(`${i}${content}`)));
});

test('an upload whose connection is cut goes on with the rest', async () => {
  const content = Buffer.alloc(4 * 2 ** 20, 'y');
  const digest = createHash('sha256').update(content).digest('hex');
  const put = (headers: Record<string, string | number>) =>
    request(`${server.url}/v2/builds/files/${digest}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/octet-stream', ...headers },
    });
  const files = [{ digest, size: content.length }];
  const bytesThere = async () => {
    const { partial } = await api.call<{ partial: { bytes: number }[] }>('POST', '/v2/builds/missing-files', { files });
    return partial[0]?.bytes;
  };
  const cut = put({ 'content-length': content.length });
  cut.on('error', () => {});
  cut.write(content.subarray(0, 2.5 * 2 ** 20));
  await until('a part of it is there', bytesThere);
  cut.destroy();
  await until('the rest is taken, once the former request writes no more', async () => {
    const from = (await bytesThere())!;
    const rest = put({
      'content-range': `bytes ${from}-${content.length - 1}/${content.length}`,
      'content-length': content.length - from,
    });
    const answered = once(rest, 'response').then(([{ statusCode }]) => statusCode);
    rest.on('error', () => {}); // a refusal does not wait for the body
    rest.end(content.subarray(from));
    return (await answered.catch(() => 0)) === 204;
  });
  expect(await api.call('POST', '/v2/builds/missing-files', { files })).toEqual({ missing: [], partial: [] });
});
