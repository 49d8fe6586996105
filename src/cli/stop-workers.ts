import pg from 'pg';
import type { Installation } from '../domain/installation.ts';
import { refuseMoved } from '../domain/move-mark.ts';
import type { Observed, Runtime } from '../runtimes/runtime.ts';
import { nameOf, withDatabaseOf } from './backup.ts';
import type { CliOutput, Storage } from './cli-pieces.ts';
import { holdWithoutServers } from './hold-without-servers.ts';

export interface StopWorkersOptions {
  /** Null: the runtime that was used last. */
  runtime: string | null;
  graceMs: number;
  /** The runtime with what this installation has there. */
  open(name: Runtime['name'], installation: string): Promise<Runtime>;
}

const RUNTIMES: readonly string[] = ['docker', 'process', 'simulated', 'kubernetes'] satisfies Runtime['name'][];

/**
 * Ends what a server that is gone left running: containers of workers and pods. Endpoints, pods, jobs and files stay; the
 * next server starts what is wanted. Refused while a server uses that runtime: it would start them again. What a former
 * runtime has, before a move, can be ended while a server runs elsewhere.
 */
export async function stopWorkers(storage: Storage, options: StopWorkersOptions, output: CliOutput): Promise<void> {
  await withDatabaseOf(storage, async (databaseUrl) => {
    const client = new pg.Client({ connectionString: databaseUrl, application_name: 'podyard stop-workers' });
    client.on('error', () => {}); // whoever waits for an answer is told
    await client.connect();
    try {
      const installation = await findInstallation(client);
      await refuseMoved(client);
      const name = options.runtime ?? installation.runtime;
      if (name === undefined || !RUNTIMES.includes(name)) {
        throw new Error(`which runtime has them is not known: name it with --runtime ${RUNTIMES.join(', ')}`);
      }
      if (name === (installation.runtime ?? name)) await holdWithoutServers(client, nameOf(storage));
      const runtime = await options.open(name as Runtime['name'], installation.id);
      try {
        tell(await stopAll(runtime, options.graceMs), name, output);
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

async function stopAll(runtime: Runtime, graceMs: number): Promise<Observed[]> {
  const found = await runtime.list();
  await Promise.all(found.map(({ id }) => runtime.stop(id, graceMs)));
  return found;
}

function tell(stopped: readonly Observed[], runtime: string, output: CliOutput): void {
  const count = (kind: Observed['kind']) => stopped.filter((one) => one.kind === kind).length;
  output.print(`${count('worker')} workers and ${count('pod')} pods of the ${runtime} runtime were ended`);
  output.note('Pods that shall run, and workers that are needed, start again with the next server.');
}
