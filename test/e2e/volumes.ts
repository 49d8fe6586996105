import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { Api, ApiError, until } from './api.ts';
import { type RuntimePlace, ServerProcess, type TestedRuntime } from './server-process.ts';

/** Appends its variable WORD to a file of the volume, prints the file, and idles. */
const WRITER = JSON.stringify({
  entrypoint: [
    'node',
    '-e',
    "const { RUNPOD_VOLUME_ID, RUNPOD_VOLUME_PATH, WORD } = process.env; const fs = require('fs'); const file = RUNPOD_VOLUME_PATH + '/words'; fs.appendFileSync(file, WORD + ' '); console.log('holds ' + fs.readFileSync(file, 'utf8').trim() + ' in ' + RUNPOD_VOLUME_ID); process.on('SIGTERM', () => process.exit()); setInterval(() => {}, 1000);",
  ],
});

/** Network volumes with workers that write to them. */
export function volumeTests(runtime: TestedRuntime, place: () => RuntimePlace = () => ({})): void {
  let database: TestDatabase;
  let server: ServerProcess;
  let api: Api;
  beforeAll(async () => {
    database = await createTestDatabase();
    server = await ServerProcess.start({ runtime, databaseUrl: database.url, ...place() });
    api = new Api(server);
  });
  afterAll(async () => {
    await server?.dispose();
    await database?.drop();
  });

  const createVolume = async (name: string) => {
    const body = { name, size: 10, dataCenter: 'LOCAL-1' };
    return (await api.call<{ id: string }>('POST', '/v2/network-volumes', body)).id;
  };
  /** Runs a worker that writes, waits for its output, and deletes its endpoint. */
  const write = async (volume: string, word: string, said: string, meanwhile = async () => {}) => {
    const id = await api.createEndpoint({
      args: WRITER,
      env: { WORD: word, RUNPOD_VOLUME_ID: 'of the user' },
      networkVolumes: [volume],
      workers: { min: 1, max: 1 },
    });
    const worker = await until('there is a worker', async () => (await api.workers(id))[0]);
    const expected = `holds ${said} in ${volume}`;
    await api.logs(id, worker.id, (lines) => lines.some(({ line }) => line === expected), { atMostMs: 120_000 });
    await meanwhile();
    await api.delete(id);
    await until('the worker is gone', async () => (await server.listWorkloads()).length === 0);
  };
  const remove = (id: string) => api.call('DELETE', `/v2/network-volumes/${id}`);
  const stored = async (): Promise<string[]> =>
    (await place().listStored?.('volume')) ??
    readdir(join(server.dataDir, 'storage', server.installation, 'volumes', 'LOCAL-1'));

  test('a worker reads what another one wrote, until the volume is deleted with its files', async () => {
    const volume = await createVolume('shared');
    await write(volume, 'one', 'one', async () => {
      await expect(remove(volume)).rejects.toMatchObject({ status: 400 });
    });
    await write(volume, 'two', 'one two');
    expect(await stored()).toEqual([volume]);
    const other = await createVolume('other');
    await write(other, 'three', 'three');
    await until('nothing mounts it', () => isDone(remove(volume)));
    await until('its files are gone', async () => !(await stored()).includes(volume));
    expect(await stored()).toEqual([other]);
    await until('nothing mounts the other', () => isDone(remove(other)));
    if (runtime === 'process') expect(existsSync('/runpod-volume')).toBe(false);
  });
}

/** False for a 400, which a volume gets while its last worker stops. */
function isDone(call: Promise<unknown>): Promise<boolean> {
  return call.then(
    () => true,
    (error) => {
      if (error instanceof ApiError && error.status === 400) return false;
      throw error;
    },
  );
}
