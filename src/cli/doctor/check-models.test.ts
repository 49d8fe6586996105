import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { checkModels } from './check-models.ts';

const MODELS = { budgetBytes: null, hubBudgetBytes: null, bytesPerSecond: null, parallel: 8 };
let dataDir: string;
let hub: Server;
let hubUrl: string;
let status = 200;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'podyard-doctor-'));
  hub = createServer((_, answer) => answer.writeHead(status).end()).listen(0, '127.0.0.1');
  await once(hub, 'listening');
  hubUrl = `http://127.0.0.1:${(hub.address() as AddressInfo).port}`;
  status = 200;
});
afterEach(async () => {
  hub.close();
  await rm(dataDir, { recursive: true });
});

test('doctor says what models may take, what they have, and that their hub answers, and makes no folder', async () => {
  const folder = join(dataDir, 'models');
  const [store, answer] = await checkModels({ dataDir, hubUrl, models: { ...MODELS, budgetBytes: 1e9 } }, false);
  expect(store).toMatchObject({ what: 'models', verdict: 'ok' });
  expect(store!.found).toMatch(
    new RegExp(`^${folder} may take 1\\.0 GB and has 0\\.0 MB; \\S+ [MG]B of the disk are free$`),
  );
  expect(answer).toEqual({ what: 'models', verdict: 'ok', found: `the hub ${new URL(hubUrl).host} answers` });
  expect(existsSync(folder)).toBe(false);
  await mkdir(folder);
  await writeFile(join(folder, 'weights'), Buffer.alloc(5e6));
  const [half] = await checkModels({ dataDir, hubUrl, models: MODELS }, false);
  expect(half!.found).toMatch(/ and has 5\.\d MB;/);
});

test('offline, the hub is not asked', async () => {
  hub.on('request', () => expect.unreachable());
  const findings = await checkModels({ dataDir, hubUrl, models: MODELS }, true);
  expect(findings.map(({ found }) => found)).toEqual([expect.stringContaining('of the disk are free')]);
});

test('a budget that the disk cannot hold, and a folder that cannot be used, are noted', async () => {
  const [store] = await checkModels({ dataDir, hubUrl, models: { ...MODELS, budgetBytes: 1e15 } }, false);
  expect(store).toMatchObject({ verdict: 'note', advice: expect.stringContaining('--models-gb') });
  const file = join(dataDir, 'file');
  await writeFile(file, '');
  const [blocked] = await checkModels({ dataDir: file, hubUrl, models: MODELS }, false);
  expect(blocked).toMatchObject({ verdict: 'note', advice: expect.stringContaining('--data-dir') });
});

test('a hub that is away or fails is noted, with what to set', async () => {
  const host = new URL(hubUrl).host;
  const advice = 'Models of a hub cannot be fetched. Let this machine reach it, or name a mirror with --hub-url.';
  status = 503;
  const [, failing] = await checkModels({ dataDir, hubUrl, models: MODELS }, false);
  expect(failing).toEqual({
    what: 'models',
    verdict: 'note',
    found: `the hub ${host} answers with status 503`,
    advice,
  });
  hub.close();
  await once(hub, 'close');
  const [, away] = await checkModels({ dataDir, hubUrl, models: MODELS }, false);
  expect(away).toMatchObject({ verdict: 'note', advice });
  expect(away!.found).toBe(`the hub ${host} cannot be reached: nothing listens there`);
  const nowhere = { dataDir, hubUrl: 'http://hub.invalid', models: MODELS };
  const [, unknown] = await checkModels(nowhere, false);
  expect(unknown!.found).toMatch(
    /^the hub hub\.invalid cannot be reached: (there is no host named hub\.invalid|no name server answered for hub\.invalid)$/,
  );
});
