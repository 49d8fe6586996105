import { counted } from '../../core/text/counted.ts';
import { inOneLine } from '../../domain/logs/quote-output.ts';
import { RECORDS } from '../records/kinds.ts';
import { ApiClient } from '../shared/api-client.ts';
import type { NewerSchemas, Schemas } from '../shared/api-types.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { type Column, formatTable } from '../terminal/table.ts';
import { readSecret } from '../terminal/terminal.ts';
import { jsonText } from '../terminal/terminal-text.ts';
import { applyImport, type ImportResult } from './import-apply.ts';
import { mergeShapes } from './import-bodies.ts';
import { askForMissing, type Credentials, readCredentialsFile } from './import-credentials.ts';
import { withModels } from './import-models.ts';
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
  const target = await readTarget(client, source);
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
async function readTarget(client: ApiClient, source: ImportSource): Promise<ImportTarget> {
  const names = new Set(source.endpoints.map(({ name }) => name));
  const paired = async <T extends { id: string; name: string }>(all: readonly T[]) =>
    withModels(
      client,
      all.filter(({ name }) => names.has(name)),
    );
  const newer = await client.json<NewerSchemas['EndpointList']>('GET', '/2026-08/v2/serverless');
  const templates = await client.json<Schemas['TemplateList']>('GET', '/2026-08/v2/templates');
  const include = 'GPU_AVAILABILITY,CPU_AVAILABILITY';
  const [{ gpus }, { dataCenters }] = await Promise.all([
    client.call('get', '/v2/catalog/gpus'),
    client.call('get', '/v2/catalog/datacenters', { query: { include } }),
  ]);
  const isServing = ({ gpuAvailability = [], cpuAvailability = [] }: Schemas['DataCenter']) =>
    [...gpuAvailability, ...cpuAvailability].some(({ availability }) => availability !== 'NONE');
  const pooled = gpus.flatMap(({ id, pool }) => (pool ? [{ id, pool }] : []));
  const types = Map.groupBy(pooled, ({ pool }) => pool);
  return {
    volumes: await RECORDS.volumes.list(client),
    registries: await RECORDS.registries.list(client),
    secrets: await RECORDS.secrets.list(client),
    templates: templates.templates,
    endpoints: await paired(mergeShapes(await RECORDS.endpoints.list(client), newer.endpoints)),
    newerEndpoints: new Map((await paired(newer.endpoints)).map((record) => [record.id, record])),
    pools: new Map([...types].map(([pool, members]) => [pool, members.map(({ id }) => id)])),
    dataCenters: new Set(dataCenters.filter(isServing).map(({ id }) => id)),
  };
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
  const answer = await terminal.ask(`Make ${counted(toMake, 'record')} here? [y/N] `);
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
