import { messageOf } from '../../core/errors.ts';
import { type ApiClient, ApiRefusal } from '../shared/api-client.ts';
import type { CommandOutput } from '../shared/cli-pieces.ts';
import { type EndpointBody, type ImportBody, splitRule } from './import-bodies.ts';
import type { Credentials } from './import-credentials.ts';
import type { ImportItem, ImportKind } from './import-plan.ts';

/** The outcome of a record. */
export interface ImportResult extends Pick<ImportItem, 'kind' | 'name' | 'note'> {
  result: 'CREATED' | 'EXISTS' | 'DIFFERS' | 'SKIPPED' | 'FAILED';
  /** The id of the record here; null if there is none. */
  id: string | null;
}

/** Ids here by ids of the other side. */
interface Ids {
  volumes: Map<string, string>;
  registries: Map<string, string>;
}

/**
 * Makes what the plan says, one record after the other, and reports each to `onResult`. A record that this side refuses does
 * not keep the others from being made. `existing`: the records that are here already, also of kinds that are not imported.
 * Throws when the server cannot be reached, or refuses the key: run again, it continues.
 */
export async function applyImport(
  client: ApiClient,
  items: readonly ImportItem[],
  { credentials, existing }: { credentials: Credentials; existing: readonly ImportItem[] },
  output: CommandOutput,
  onResult: (result: ImportResult) => void,
): Promise<void> {
  const ids: Ids = { volumes: idsOf('volume', existing), registries: idsOf('registry', existing) };
  for (const [i, item] of items.entries()) {
    output.terminal.progress(`${i + 1} of ${items.length}: ${item.kind} ${item.name}`);
    const result = await applyItem(client, item, credentials, ids);
    if (result.id !== null && item.kind === 'volume') ids.volumes.set(item.sourceId, result.id);
    if (result.id !== null && item.kind === 'registry') ids.registries.set(item.sourceId, result.id);
    onResult(result);
  }
  output.terminal.progress('');
}

function idsOf(kind: ImportKind, items: readonly ImportItem[]): Map<string, string> {
  const here = items.flatMap((item) => (item.kind === kind && item.hereId !== null ? [item] : []));
  return new Map(here.map(({ sourceId, hereId }) => [sourceId, hereId!]));
}

async function applyItem(
  client: ApiClient,
  item: ImportItem,
  credentials: Credentials,
  ids: Ids,
): Promise<ImportResult> {
  const { kind, name, note, hereId, action } = item;
  const shown = { kind, name, note, id: hereId };
  if (action === 'EXISTS' || action === 'DIFFERS') return { ...shown, result: action };
  if (action === 'SKIP') return { ...shown, result: 'SKIPPED' };
  const call = toCall(item, credentials, ids);
  if (typeof call === 'string') return { ...shown, result: 'SKIPPED', note: call };
  try {
    const { id } = await client.json<{ id: string }>('POST', call.path, call.body);
    if (call.rest) await client.json('PATCH', `/2026-08/v2/serverless/${id}`, call.rest);
    return { ...shown, result: 'CREATED', id, note: kind === 'secret' || kind === 'registry' ? null : note };
  } catch (error) {
    const isOrigin = error instanceof ApiRefusal && error.status === 503 && (item.body as { models?: unknown })?.models;
    if (!(error instanceof ApiRefusal) || (isFatal(error.status) && !isOrigin)) throw error;
    return { ...shown, result: 'FAILED', note: messageOf(error) };
  }
}

/** Nothing else would succeed either. */
function isFatal(status: number): boolean {
  return status === 0 || status === 401 || status === 429 || status >= 500;
}

const PATHS = { volume: 'network-volumes', registry: 'registries', template: 'templates', endpoint: 'serverless' };

interface Call {
  path: string;
  body: object;
  /** A change that follows at once, because the create cannot take it. */
  rest?: object | null;
}

/** Returns the request that makes a record, or why there is none. */
function toCall(item: ImportItem, credentials: Credentials, ids: Ids): Call | string {
  const { kind, name, revision } = item;
  if (kind === 'secret') {
    const value = credentials.secrets.get(name);
    if (value === undefined) return 'it has no value: see --secrets';
    return { path: '/v2/account/secrets', body: { name, value, description: null } };
  }
  if (kind === 'registry') {
    const login = credentials.registries.get(name);
    if (login === undefined) return 'it has no credentials: see --secrets';
    return { path: '/v2/registries', body: { name, ...login } };
  }
  const body = withIds(item.body!, ids);
  return typeof body === 'string'
    ? body
    : { path: `/${revision}/v2/${PATHS[kind]}`, ...splitRule({ revision, body: body as EndpointBody['body'] }) };
}

/** Replaces ids of the other side, or returns why it cannot. */
function withIds(body: ImportBody, ids: Ids): ImportBody | string {
  const { registry, networkVolumes = [] } = body;
  if (registry && !ids.registries.has(registry)) return 'its registry is missing here: make that first';
  if (networkVolumes.some((id) => !ids.volumes.has(id))) {
    return 'its network volume is missing here: make that first';
  }
  return {
    ...body,
    ...(registry && { registry: ids.registries.get(registry)! }),
    ...(body.networkVolumes && { networkVolumes: networkVolumes.map((id) => ids.volumes.get(id)!) }),
  };
}
