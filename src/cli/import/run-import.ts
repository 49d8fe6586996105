import { inOneLine } from '../../domain/logs/quote-output.ts';
import { ApiClient } from '../shared/api-client.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { listRecords, RECORDS, type RecordKind, type Wire } from '../shared/records.ts';
import { type Column, formatTable } from '../terminal/table.ts';
import { readSecret } from '../terminal/terminal.ts';
import { jsonText } from '../terminal/terminal-text.ts';
import { applyImport, type ImportResult } from './import-apply.ts';
import { askForMissing, type Credentials, readCredentialsFile } from './import-credentials.ts';
import { mergeShapes } from './import-endpoints.ts';
import { type ImportItem, type ImportKind, type ImportTarget, planImport } from './import-plan.ts';
import { baseUrlOf, type ImportSource, readSource } from './import-source.ts';

export interface ImportOptions {
  from: string;
  key?: string;
  secrets?: string;
  dataCenter?: string;
  only?: ImportKind[];
  dryRun?: boolean;
  yes?: boolean;
  json?: boolean;
}

const KINDS: readonly ImportKind[] = ['volume', 'registry', 'secret', 'template', 'endpoint'];

const PLAN_COLUMNS: readonly Column<ImportItem>[] = [
  ['KIND', (item) => item.kind],
  ['NAME', (item) => inOneLine(item.name)],
  ['PLAN', (item) => item.action.toLowerCase()],
  ['NOTE', (item) => inOneLine(item.note ?? '')],
];
const RESULT_COLUMNS: readonly Column<ImportResult>[] = [
  ['KIND', (result) => result.kind],
  ['NAME', (result) => inOneLine(result.name)],
  ['RESULT', (result) => result.result.toLowerCase()],
  ['ID HERE', (result) => result.id],
  ['NOTE', (result) => inOneLine(result.note ?? '')],
];

/**
 * Makes the endpoints, templates, network volumes, registries and secrets of another server here, with the same names. Shows
 * the plan first, and makes it once confirmed. What exists by name is left alone, so it can be run again.
 */
export async function runImport(pieces: CliPieces, client: ApiClient, options: ImportOptions): Promise<void> {
  const given = options.secrets === undefined ? NONE : await readCredentialsFile(options.secrets, pieces);
  const url = baseUrlOf(options.from);
  const key = await readKey(pieces, options.key);
  pieces.terminal.progress(`reading ${url}`);
  const source = await readSource(new ApiClient({ url, key }, pieces.terminal));
  const target = await readTarget(client);
  pieces.terminal.progress('');
  const kinds = new Set<ImportKind>(options.only ?? KINDS);
  const existing = planImport(source, target, { dataCenter: options.dataCenter ?? null });
  const items = existing.filter(({ kind }) => kinds.has(kind));
  const isConfirmed = await showPlan(pieces, source, items, options);
  if (!isConfirmed) return;
  const credentials = await askForMissing(items, given, pieces);
  await apply(pieces, client, { items, existing, credentials }, options);
}

const NONE: Credentials = { secrets: new Map(), registries: new Map() };

/** An argument can be read by every user of the machine, so the environment and a prompt come first. */
async function readKey({ terminal, note }: CliPieces, argument: string | undefined): Promise<string> {
  const { PODYARD_IMPORT_KEY: fromEnv } = terminal.env;
  if (argument !== undefined && argument !== '-') {
    note('Other users of this machine can read a key in a command line: prefer --key - or PODYARD_IMPORT_KEY.');
    return argument;
  }
  if (argument === undefined && fromEnv) return fromEnv;
  return (await readSecret(terminal, 'API key of the other side')).trim();
}

/** Reads what the plan compares with. */
async function readTarget(client: ApiClient): Promise<ImportTarget> {
  const list = (kind: RecordKind, shape = '2026-08') => listRecords(client, { ...kind, path: `/${shape}${kind.path}` });
  const newer = await list(RECORDS.endpoints);
  const [pools, places] = await Promise.all([
    client.call<Wire>('GET', '/v2/catalog/gpus'),
    client.call<Wire>('GET', '/v2/catalog/datacenters?include=GPU_AVAILABILITY,CPU_AVAILABILITY'),
  ]);
  const isServing = ({ gpuAvailability = [], cpuAvailability = [] }: Wire) =>
    [...gpuAvailability, ...cpuAvailability].some(({ availability }) => availability !== 'NONE');
  return {
    volumes: await list(RECORDS.volumes),
    registries: await list(RECORDS.registries),
    secrets: await list(RECORDS.secrets),
    templates: await list(RECORDS.templates),
    endpoints: mergeShapes(await list(RECORDS.endpoints, '2026-07'), newer),
    newerEndpoints: new Map(newer.map((record) => [record.id, record])),
    pools: typesByPool(pools.gpus),
    dataCenters: new Set(places.dataCenters.filter(isServing).map(({ id }: Wire) => id)),
  };
}

function typesByPool(gpus: readonly Wire[]): Map<string, string[]> {
  const pooled = Map.groupBy(
    gpus.filter(({ pool }) => pool),
    ({ pool }) => pool as string,
  );
  return new Map([...pooled].map(([pool, types]) => [pool, types.map(({ id }) => id as string)]));
}

/** Prints the plan. Resolves with true if it is to be made. */
async function showPlan(
  pieces: CliPieces,
  source: ImportSource,
  items: readonly ImportItem[],
  { dryRun, yes, json }: ImportOptions,
): Promise<boolean> {
  const { terminal, note } = pieces;
  for (const line of source.notes) note(line);
  const toMake = items.filter(({ action }) => action === 'CREATE').length;
  const isShown = dryRun || !yes || !json; // with --yes --json, only the results are printed
  if (items.length === 0) note('The other side has nothing to import.');
  else if (json && isShown) pieces.print(jsonText(items.map(toJson)));
  else if (!json) pieces.print(formatTable(PLAN_COLUMNS, items, pieces.screen));
  note(`${toMake} of ${items.length} to make; the other side speaks revision ${source.revision}.`);
  if (dryRun || toMake === 0) return false;
  if (yes) return true;
  if (!terminal.isInteractive) {
    note('Nothing was made: run it again with --yes.');
    return false;
  }
  const answer = await terminal.ask(`Make ${toMake} ${toMake === 1 ? 'record' : 'records'} here? [y/N] `);
  if (/^y(es)?$/i.test(answer.trim())) return true;
  note('Nothing was made.');
  return false;
}

/** Without the body: its env may hold what others must not see. */
function toJson({ kind, name, sourceId, action, note, hereId }: ImportItem) {
  return { kind, name, sourceId, action, note, hereId };
}

async function apply(
  pieces: CliPieces,
  client: ApiClient,
  { items, ...known }: { items: readonly ImportItem[]; existing: readonly ImportItem[]; credentials: Credentials },
  { json }: ImportOptions,
): Promise<void> {
  const results: ImportResult[] = [];
  try {
    await applyImport(client, items, known, pieces, (result) => results.push(result));
  } finally {
    pieces.terminal.progress('');
    if (json) pieces.print(jsonText(results));
    else if (results.length > 0) pieces.print(`\n${formatTable(RESULT_COLUMNS, results, pieces.screen)}`);
  }
  const failed = results.filter(({ result }) => result === 'FAILED').length;
  if (failed > 0) throw new Error(`${failed} of ${items.length} could not be made: mend them and run it again`);
}
