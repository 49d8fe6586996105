import { findTarget, readContexts } from '../account/contexts.ts';
import { ApiClient } from '../shared/api-client.ts';
import { RECORDS, type Wire } from '../shared/records.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { cellText } from '../terminal/terminal-text.ts';
import { type Candidates, FILES, type Names } from './completion.ts';

/** Who presses Tab does not wait longer. */
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

/** Where the names of a kind are, and the member of a record that is one. */
const SOURCES: Readonly<Record<Exclude<Names, 'contexts'>, { path: string; list: string; member?: 'id' | 'pool' }>> = {
  ...RECORDS,
  keys: { path: '/v2/account/api-keys', list: 'apiKeys' },
  users: { path: '/v2/account/users?limit=1000', list: 'users' },
  gpus: { ...RECORDS.gpus, member: 'id' },
  pools: { ...RECORDS.gpus, member: 'pool' },
  cpus: { ...RECORDS.cpus, member: 'id' },
  datacenters: { ...RECORDS.datacenters, member: 'id' },
};

async function readNames(kind: Names, context: string | undefined, terminal: Terminal): Promise<string[]> {
  if (kind === 'contexts') return Object.keys((await readContexts(terminal)).contexts);
  const target = await findTarget(terminal, context);
  const client = new ApiClient(target, { interrupted: AbortSignal.timeout(TIME_LIMIT_MS), env: terminal.env });
  const { path, list, member = 'name' } = SOURCES[kind];
  const records: Wire[] = (await client.call<Wire>('GET', path))[list];
  return records.flatMap((record) => record[member] ?? []);
}

/** Returns what a shell makes of an unfinished word. */
function unquote(typed: string): string {
  return typed.replace(/^['"]/, '').replace(/\\(.)/gs, '$1');
}
