import { findTarget, readContexts } from '../account/contexts.ts';
import { CATALOG, type Findable, type Named, RECORDS } from '../records/kinds.ts';
import { ApiClient } from '../shared/api-client.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { cellText } from '../terminal/terminal-text.ts';
import { type Candidates, FILES, type Names } from './completion.ts';

/** Completion answers within this time, with or without names. */
const TIME_LIMIT_MS = 1_000;

/**
 * Returns the lines that complete what was typed, which a shell may have left quoted. Names that cannot be read within a second
 * are left out, whatever the reason.
 */
export async function complete(
  { words, names, isFile }: Candidates,
  typed: string,
  context: string | undefined,
  terminal: Terminal,
): Promise<string[]> {
  if (isFile) return [FILES];
  const read = names.map((kind) => readNames(kind, context, terminal).catch(() => []));
  const prefix = unquote(typed);
  const found = [...words, ...(await Promise.all(read)).flat()].filter((word) => word.startsWith(prefix));
  return [...new Set(found)].filter((word) => word !== '' && cellText(word) === word); // one line each, for a terminal
}

const namesOfKind = (kind: Findable<Named>) => async (client: ApiClient) => namesOf(await kind.list(client));
const namesOf = (records: readonly { name: string }[]) => records.map(({ name }) => name);
const idsOf = (records: readonly { id: string }[]) => records.map(({ id }) => id);

/** How the names of a kind are read. */
const SOURCES: Readonly<Record<Exclude<Names, 'contexts'>, (client: ApiClient) => Promise<readonly string[]>>> = {
  endpoints: namesOfKind(RECORDS.endpoints),
  pods: namesOfKind(RECORDS.pods),
  clusters: namesOfKind(RECORDS.clusters),
  templates: namesOfKind(RECORDS.templates),
  secrets: namesOfKind(RECORDS.secrets),
  volumes: namesOfKind(RECORDS.volumes),
  registries: namesOfKind(RECORDS.registries),
  keys: async (client) => namesOf((await client.call('get', '/v2/account/api-keys')).apiKeys),
  s3Keys: async (client) => namesOf((await client.call('get', '/v2/account/s3-keys')).s3Keys),
  notices: async (client) => namesOf((await client.call('get', '/v2/account/notices')).destinations),
  users: async (client) => namesOf((await client.call('get', '/v2/account/users', { query: { limit: 1000 } })).users),
  teams: async (client) => namesOf((await client.call('get', '/v2/teams')).teams),
  models: async (client) => namesOf((await client.call('get', '/v2/models')).models),
  gpus: async (client) => idsOf(await CATALOG.gpus.rows(client)),
  pools: async (client) => (await CATALOG.gpus.rows(client)).flatMap(({ pool }) => pool ?? []),
  cpus: async (client) => idsOf(await CATALOG.cpus.rows(client)),
  datacenters: async (client) => idsOf(await CATALOG.datacenters.rows(client)),
};

async function readNames(kind: Names, context: string | undefined, terminal: Terminal): Promise<readonly string[]> {
  if (kind === 'contexts') return Object.keys((await readContexts(terminal)).contexts);
  const target = await findTarget(terminal, context);
  return SOURCES[kind](new ApiClient(target, { interrupted: AbortSignal.timeout(TIME_LIMIT_MS), env: terminal.env }));
}

/** Returns what a shell makes of an unfinished word. */
function unquote(typed: string): string {
  return typed.replace(/^['"]/, '').replace(/\\(.)/gs, '$1');
}
