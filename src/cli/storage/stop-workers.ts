import pg from 'pg';
import { messageOf } from '../../core/errors.ts';
import type { RuntimeName } from '../../core/runtime-names.ts';
import { isRuntimeName, RUNTIME_NAMES } from '../../core/runtime-names.ts';
import { counted } from '../../core/text/counted.ts';
import { connectionOptions } from '../../db/connection-options.ts';
import type { Installation } from '../../domain/installation.ts';
import { refuseMoved } from '../../domain/move-mark.ts';
import type { Observed, Runtime } from '../../runtimes/runtime.ts';
import type { CliOutput, Storage } from '../shared/cli-pieces.ts';
import { holdWithoutServers, nameOf, withDatabaseOf } from './installation.ts';

export interface StopWorkersOptions {
  /** Null: the last server's runtime. */
  runtime: string | null;
  graceMs: number;
  /** Opens a runtime with this installation's workloads. */
  open(name: RuntimeName, installation: string): Promise<Runtime>;
}

const PROGRESS_MS = 5_000;

/**
 * Stops the workers and pods that a server left running, and removes the networks of clusters. Records and files stay; the next server starts what is wanted.
 * Throws while a server uses that runtime: it would start them again. Workloads of a former runtime, from before a move, can
 * be stopped while a server runs elsewhere.
 */
export async function stopWorkers(storage: Storage, options: StopWorkersOptions, output: CliOutput): Promise<void> {
  await withDatabaseOf(storage, async (databaseUrl) => {
    const client = new pg.Client(connectionOptions({ databaseUrl, applicationName: 'podyard stop-workers' }));
    client.on('error', () => {}); // the pending query rejects
    await client.connect();
    try {
      const installation = await findInstallation(client);
      await refuseMoved(client);
      const name = options.runtime ?? installation.runtime;
      if (name === undefined || !isRuntimeName(name)) {
        throw new Error(`the runtime is unknown: name it with --runtime ${RUNTIME_NAMES.join(', ')}`);
      }
      if (name === (installation.runtime ?? name)) await holdWithoutServers(client, nameOf(storage));
      const runtime = await options.open(name, installation.id);
      try {
        await stopAll(runtime, name, options.graceMs, output);
      } finally {
        await runtime.close();
      }
    } finally {
      await client.end();
    }
  });
}

async function findInstallation(db: pg.Client): Promise<Installation> {
  const result = await db
    .query<{ value: Installation }>("select value from settings where key = 'installation'")
    .catch(() => undefined); // no such table
  const installation = result?.rows[0]?.value;
  if (!installation) throw new Error('no server ever ran on this database');
  return installation;
}

/** Stops all workloads and reports progress. Throws if any could not be stopped, once the others are. */
async function stopAll(runtime: Runtime, name: string, graceMs: number, output: CliOutput): Promise<void> {
  const found = await runtime.list();
  if (found.length > 0) {
    output.note(`Stopping ${countOf(found, name)}; each has up to ${graceMs / 1000} s to finish …`);
  }
  const ended: Observed[] = [];
  const failures: string[] = [];
  const stop = async (one: Observed) => {
    try {
      await runtime.stop(one.id, graceMs);
      ended.push(one);
    } catch (error) {
      failures.push(`${one.id}: ${messageOf(error)}`);
    }
  };
  const report = () => output.note(`… ${found.length - ended.length} of ${found.length} still running`);
  const progress = setInterval(report, PROGRESS_MS);
  await Promise.all(found.map(stop));
  clearInterval(progress);
  output.print(`${countOf(ended, name)} were stopped`);
  if (failures.length > 0)
    throw new Error(`${failures.length} could not be stopped; run it again. First failure: ${failures[0]}`);
  for (const id of await runtime.groups.list()) await runtime.groups.remove(id);
  await runtime.tidy?.();
  output.note('The next server starts the pods and workers that are wanted.');
}

function countOf(workloads: readonly Observed[], runtime: string): string {
  const count = (kind: Observed['kind']) => workloads.filter((one) => one.kind === kind).length;
  return `${counted(count('worker'), 'worker')} and ${counted(count('pod'), 'pod')} of the ${runtime} runtime`;
}
