import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createEndpoint, isPodyardThere, KEY, registerWorkers, startPodyard } from './podyard.ts';
import type { PostgresServer } from './postgres.ts';
import { startProgram } from './program.ts';
import { startRedis } from './redis.ts';
import type { Subject } from './subject.ts';

/** Where a system may put its things. */
export interface Ground {
  tempDir: string;
  postgres: PostgresServer;
  /** For the server under test, e.g. `--cpu-prof`. */
  nodeArgs: string[];
}

export interface System {
  name: string;
  isThere(): boolean;
  /** Starts it empty. */
  start(ground: Ground, run: string): Promise<Subject>;
}

export const WORKERS = 128;
const PEER_WORKERS = Array.from({ length: WORKERS }, (_, i) => ({ id: `worker${i}`, token: `token${i}` }));

export const SYSTEMS: readonly System[] = [
  { name: 'podyard', isThere: isPodyardThere, start: startPodyardSubject },
  postgresPeer('pg-boss', 'pg-boss', false),
  postgresPeer('pg-boss batched', 'pg-boss', true),
  bullmq('bullmq', false),
  bullmq('bullmq batched', true),
  postgresPeer('prototype', 'prototype', true),
];

async function startPodyardSubject(ground: Ground, run: string): Promise<Subject> {
  const databaseUrl = await ground.postgres.createDatabase(`podyard_${run}`);
  const podyard = await startPodyard({
    dataDir: join(ground.tempDir, `podyard-${run}`),
    databaseUrl,
    nodeArgs: ground.nodeArgs,
  });
  return podyardSubject('podyard', ground, databaseUrl, podyard);
}

/** A new endpoint of a Podyard, with workers; they may ask another process than the one that clients use. */
export async function podyardSubject(
  name: string,
  ground: Ground,
  databaseUrl: string,
  ofClients: Awaited<ReturnType<typeof startPodyard>>,
  ofWorkers = ofClients,
): Promise<Subject> {
  const endpointId = await createEndpoint(ofClients);
  return {
    name,
    pid: ofClients.pid,
    store: { name: 'postgres', pid: ground.postgres.pid },
    clientUrl: ofClients.clientUrl,
    workerUrl: ofWorkers.workerUrl,
    endpointId,
    key: KEY,
    workers: await registerWorkers(databaseUrl, endpointId, WORKERS),
    stop: async () => {
      await Promise.all([...new Set([ofClients, ofWorkers])].map((one) => one.stop()));
    },
  };
}

function postgresPeer(name: string, file: string, isBatched: boolean): System {
  return {
    name,
    isThere: () => true,
    async start(ground, run) {
      const databaseUrl = await ground.postgres.createDatabase(`${name.replace(' ', '_')}_${run}`);
      const store = { name: 'postgres', pid: ground.postgres.pid };
      return startPeer(name, file, databaseUrl, isBatched, store, ground, async () => {});
    },
  };
}

function bullmq(name: string, isBatched: boolean): System {
  return {
    name,
    isThere: () => true,
    async start(ground, run) {
      const redis = await startRedis(join(ground.tempDir, `redis-${isBatched ? 'b' : 'a'}-${run}`));
      const store = { name: 'redis', pid: redis.pid };
      return startPeer(name, 'bullmq', redis.socket, isBatched, store, ground, () => redis.stop());
    },
  };
}

async function startPeer(
  name: string,
  file: string,
  storeUrl: string,
  isBatched: boolean,
  store: Subject['store'],
  ground: Ground,
  stopStore: () => Promise<void>,
): Promise<Subject> {
  const path = fileURLToPath(new URL(`./peers/${file}.ts`, import.meta.url));
  const program = await startProgram({
    command: process.execPath,
    args: [...ground.nodeArgs, path, '--store', storeUrl, '--key', KEY, ...(isBatched ? ['--batched'] : [])],
    ready: /The peer is ready at (http:\S+)/,
  });
  return {
    name,
    pid: program.pid,
    store,
    clientUrl: program.readyAt,
    workerUrl: program.readyAt,
    endpointId: 'bench',
    key: KEY,
    workers: PEER_WORKERS,
    async stop() {
      await program.stop();
      await stopStore();
    },
  };
}
