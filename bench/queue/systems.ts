import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isInstalled } from '../needs.ts';
import type { WorkerIdentity } from './players.ts';
import { createEndpoint, isPodyardAvailable, KEY, registerWorkers, startPodyard } from './podyard.ts';
import type { PostgresServer } from './postgres.ts';
import { startProgram } from './program.ts';
import { startRedis } from './redis.ts';
import type { Subject } from './subject.ts';

/** The requirements of a system. */
export interface Setup {
  tempDir: string;
  postgres: PostgresServer;
  /** For the server under test, e.g. `--cpu-prof`. */
  nodeArgs: string[];
}

export interface System {
  name: string;
  isAvailable(): boolean;
  /** Starts it with an empty queue. */
  start(setup: Setup, run: string): Promise<Subject>;
}

export const WORKERS = 128;
const PEER_WORKERS = Array.from({ length: WORKERS }, (_, i) => ({
  endpointId: 'bench',
  id: `worker${i}`,
  token: `token${i}`,
}));

/** Those that come closest are measured right after Podyard: a shared machine's speed changes within minutes. */
export const SYSTEMS: readonly System[] = [
  { name: 'podyard', isAvailable: isPodyardAvailable, start: startPodyardSubject },
  postgresPeer('prototype', 'prototype', true),
  bullmq('bullmq batched', true),
  bullmq('bullmq', false),
  postgresPeer('pg-boss batched', 'pg-boss', true),
  postgresPeer('pg-boss', 'pg-boss', false),
];

async function startPodyardSubject(setup: Setup, run: string): Promise<Subject> {
  const databaseUrl = await setup.postgres.createDatabase(`podyard_${run}`);
  const podyard = await startPodyard({
    dataDir: join(setup.tempDir, `podyard-${run}`),
    databaseUrl,
    nodeArgs: setup.nodeArgs,
  });
  return podyardSubject('podyard', setup, databaseUrl, podyard);
}

/** Creates endpoints with workers, which may use another process than the clients do. */
export async function podyardSubject(
  name: string,
  setup: Setup,
  databaseUrl: string,
  ofClients: Awaited<ReturnType<typeof startPodyard>>,
  { ofWorkers = ofClients, endpoints = 1 }: { ofWorkers?: typeof ofClients; endpoints?: number } = {},
): Promise<Subject> {
  const endpointIds: string[] = [];
  while (endpointIds.length < endpoints) endpointIds.push(await createEndpoint(ofClients));
  const workers: WorkerIdentity[] = [];
  for (const id of endpointIds)
    workers.push(...(await registerWorkers(databaseUrl, id, Math.ceil(WORKERS / endpoints))));
  return {
    name,
    pid: ofClients.pid,
    store: { name: 'postgres', pid: setup.postgres.pid },
    clientUrl: ofClients.clientUrl,
    workerUrl: ofWorkers.workerUrl,
    endpointIds,
    key: KEY,
    workers,
    stop: async () => {
      await Promise.all([...new Set([ofClients, ofWorkers])].map((one) => one.stop()));
    },
  };
}

function postgresPeer(name: string, file: string, isBatched: boolean): System {
  return {
    name,
    isAvailable: () => true,
    async start(setup, run) {
      const databaseUrl = await setup.postgres.createDatabase(`${name.replace(' ', '_')}_${run}`);
      const store = { name: 'postgres', pid: setup.postgres.pid };
      return startPeer(name, file, databaseUrl, isBatched, store, setup, async () => {});
    },
  };
}

function bullmq(name: string, isBatched: boolean): System {
  return {
    name,
    isAvailable: () => isInstalled('redis-server'),
    async start(setup, run) {
      const redis = await startRedis(join(setup.tempDir, `redis-${isBatched ? 'b' : 'a'}-${run}`));
      const store = { name: 'redis', pid: redis.pid };
      return startPeer(name, 'bullmq', redis.socket, isBatched, store, setup, () => redis.stop());
    },
  };
}

async function startPeer(
  name: string,
  file: string,
  storeUrl: string,
  isBatched: boolean,
  store: Subject['store'],
  setup: Setup,
  stopStore: () => Promise<void>,
): Promise<Subject> {
  const path = fileURLToPath(new URL(`./peers/${file}.ts`, import.meta.url));
  const program = await startProgram({
    command: process.execPath,
    args: [...setup.nodeArgs, path, '--store', storeUrl, '--key', KEY, ...(isBatched ? ['--batched'] : [])],
    ready: /The peer is ready at (http:\S+)/,
  });
  return {
    name,
    pid: program.pid,
    store,
    clientUrl: program.readyAt,
    workerUrl: program.readyAt,
    endpointIds: ['bench'],
    key: KEY,
    workers: PEER_WORKERS,
    async stop() {
      await program.stop();
      await stopStore();
    },
  };
}
