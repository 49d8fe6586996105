import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createEndpoint, KEY, startPodyard } from '../queue/podyard.ts';
import { type PostgresServer, query } from '../queue/postgres.ts';
import { startProgram } from '../queue/program.ts';
import type { ApiLoadResult, ApiMode } from './load.ts';

/** A server with endpoints in its table, and the ids of those in use. */
export interface ApiSubject {
  name: 'bare' | 'podyard';
  endpoints: number;
  pid: number;
  storePid: number;
  url: string;
  ids: string[];
  /** Empty for the bare routes. */
  templateIds: string[];
  stop(): Promise<void>;
}

/** How many endpoints are used, whatever the table has: only its size differs. */
export const PLAYED_ON = 10;

const TEMPLATE_MODES: ApiMode[] = ['template', 'saveTemplate', 'literals'];

const BARE = fileURLToPath(new URL('./bare.ts', import.meta.url));
const LOAD = fileURLToPath(new URL('./load.ts', import.meta.url));

/** Starts Podyard and the bare routes on one database with that many endpoints, all of one user. */
export async function startSubjects(
  endpoints: number,
  setup: { tempDir: string; postgres: PostgresServer; nodeArgs: string[] },
): Promise<ApiSubject[]> {
  const databaseUrl = await setup.postgres.createDatabase(`api${endpoints}`);
  const dataDir = join(setup.tempDir, `api${endpoints}`);
  const podyard = await startPodyard({ dataDir, databaseUrl, nodeArgs: setup.nodeArgs });
  const ids: string[] = [];
  while (ids.length < PLAYED_ON) ids.push(await createEndpoint(podyard));
  const templateIds = await addTemplates(databaseUrl);
  await addEndpoints(databaseUrl, ids[0]!, endpoints - PLAYED_ON);
  const bare = await startProgram({
    command: process.execPath,
    args: ['--max-semi-space-size=16', BARE, '--database-url', databaseUrl],
    ready: /ready at (http:\S+)/,
  });
  const shared = { endpoints, ids, storePid: setup.postgres.pid };
  return [
    { ...shared, templateIds: [], name: 'bare', pid: bare.pid, url: bare.readyAt, stop: () => bare.stop() },
    { ...shared, templateIds, name: 'podyard', pid: podyard.pid, url: podyard.clientUrl, stop: () => podyard.stop() },
  ];
}

/** Creates as many templates as endpoints are used, each named by its id. */
async function addTemplates(databaseUrl: string): Promise<string[]> {
  const ids = Array.from({ length: PLAYED_ON }, (_, i) => `template${i}`);
  await query(
    databaseUrl,
    `insert into templates (id, user_id, name, image, args, disk_gb, ports, env, is_serverless, is_public, category)
     select id, (select user_id from endpoints limit 1), id, 'bench/worker:0', '', 20, '{}', '{}', false, false, 'NVIDIA'
     from unnest($1::text[]) as id`,
    [ids],
  );
  return ids;
}

/** Copies an endpoint with its first release, by SQL. */
async function addEndpoints(databaseUrl: string, id: string, count: number): Promise<void> {
  await query(
    databaseUrl,
    `with added as (
       insert into endpoints
       select (jsonb_populate_record(e, jsonb_build_object('id', 'filler' || n, 'name', 'filler ' || n))).*
       from endpoints e, generate_series(1, $1::integer) n
       where e.id = $2
       returning id)
     insert into releases (id, endpoint_id, version, spec, diff) select 'release' || id, id, 1, '{}', '[]' from added`,
    [count, id],
  );
  await query(databaseUrl, 'vacuum analyze endpoints, releases');
}

/** Runs one mode of load against the subject, in its own process. */
export async function playApi(
  subject: ApiSubject,
  mode: ApiMode,
  options: { connections: number; seconds: number },
): Promise<ApiLoadResult> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      LOAD,
      ...[
        '--mode',
        mode,
        '--url',
        subject.url,
        '--key',
        KEY,
        '--ids',
        (TEMPLATE_MODES.includes(mode) ? subject.templateIds : subject.ids).join(),
      ],
      ...['--connections', String(options.connections), '--seconds', String(options.seconds)],
      ...['--server', String(subject.pid), '--store', String(subject.storePid)],
    ],
    { timeout: (options.seconds + 60) * 1000, killSignal: 'SIGKILL' },
  );
  const result = JSON.parse(stdout) as ApiLoadResult;
  if (result.errors > 0)
    process.stderr.write(`${subject.name}, ${mode}: ${result.errors} failed requests; ${result.firstError}\n`);
  return result;
}
