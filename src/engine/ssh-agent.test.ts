/** The agent, with a program in place of ssh that connects its input and output to a stand-in of an engine. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest';
import { startFakeEngine } from '../../test/fake-engine.ts';
import { Engine } from './engine.ts';

const folder = mkdtempSync(join(tmpdir(), 'podyard-ssh-'));
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach(() => vi.stubEnv('PATH', `${folder}${delimiter}${process.env.PATH}`));
afterEach(() => vi.unstubAllEnvs());

function placeSsh(script: string): void {
  const file = join(folder, 'ssh');
  writeFileSync(file, `#!/bin/sh\necho "$@" >${join(folder, 'args')}\n${script}\n`);
  chmodSync(file, 0o755);
}
const engineAt = (host: string) => new Engine({ host, port: 2222, ssh: { user: 'me' } });

test('requests go through ssh to the engine of the other machine', async () => {
  const bodies: string[] = [];
  const fake = await startFakeEngine(async (request, response) => {
    for await (const chunk of request) bodies.push(String(chunk));
    response.end('{"Id":"a"}');
  });
  const relay = `const s = require('net').connect(process.argv[1]); process.stdin.pipe(s).pipe(process.stdout)`;
  placeSsh(`exec ${process.execPath} -e "${relay}" ${fake.socketPath}`);
  const engine = engineAt('gpu-1.internal');
  const body = { text: 'x'.repeat(500_000) };
  expect(await engine.json({ method: 'POST', path: '/containers/create', body })).toEqual({ Id: 'a' });
  expect(JSON.parse(bodies.join(''))).toEqual(body);
  expect(readFileSync(join(folder, 'args'), 'utf8').trim()).toMatch(
    /-T -l me -p 2222 -- gpu-1\.internal docker system dial-stdio$/,
  );
  await engine.close();
  await fake.close();
});

test.each([
  ['echo "ssh: connect to host gpu-1.internal port 2222: Connection refused" >&2; exit 255', /Connection refused/],
  ['exit 127', /ssh ended with exit code 127/],
])('ssh’s own words are in the failure', async (script, words) => {
  placeSsh(script);
  const answer = engineAt('gpu-1.internal').json({ method: 'POST', path: '/build', body: {} });
  await expect(answer).rejects.toMatchObject({ kind: 'unavailable', message: expect.stringMatching(words) });
});

test('a machine without ssh says so', async () => {
  vi.stubEnv('PATH', '/nonexistent');
  const answer = engineAt('gpu-1.internal').json({ method: 'GET', path: '/info' });
  await expect(answer).rejects.toMatchObject({ kind: 'unavailable', message: expect.stringMatching(/ssh ENOENT/) });
});
