import { isDeepStrictEqual } from 'node:util';
import type { RestRevision } from '../../core/rest-revisions.ts';
import type { Named } from '../records/kinds.ts';
import type { Schemas } from '../shared/api-types.ts';
import {
  type EndpointBody,
  type ImportBody,
  type References,
  type SourceEndpoint,
  toEndpointBody,
  toTemplateBody,
  toVolumeBody,
} from './import-bodies.ts';
import type { ImportSource } from './import-source.ts';

export type ImportKind = 'volume' | 'registry' | 'secret' | 'template' | 'endpoint';

/** One record of the other side and what becomes of it here. */
export interface ImportItem {
  kind: ImportKind;
  name: string;
  /** Empty for a secret. */
  sourceId: string;
  /** EXISTS: with the same settings; DIFFERS: with others, which stay. SKIP: it cannot be made; `note` says why. */
  action: 'CREATE' | 'EXISTS' | 'DIFFERS' | 'SKIP';
  note: string | null;
  /** The id of the record here; null if there is none yet. */
  hereId: string | null;
  /** The body to send, with references of the other side; null where nothing is sent. */
  body: ImportBody | null;
  revision: RestRevision;
}

/** The records of this side, in the shapes that the plan compares with. */
export interface ImportTarget {
  volumes: readonly Schemas['NetworkVolume'][];
  registries: readonly Named[];
  secrets: readonly Named[];
  templates: readonly Schemas['Template'][];
  /** As `mergeShapes` returns them, and in the newer shape by id. */
  endpoints: readonly SourceEndpoint[];
  newerEndpoints: ReadonlyMap<string, SourceEndpoint>;
  /** The GPU types of each pool. */
  pools: ReadonlyMap<string, readonly string[]>;
  /** Data centers in which this side can run something. */
  dataCenters: ReadonlySet<string>;
}

export interface PlanOptions {
  /** Takes the place of every data center; null: they are kept. */
  dataCenter: string | null;
}

/** Templates that belong to one endpoint: its settings come with the endpoint. */
const BOUND = /__template__/;

/** Returns what to do with each record, in the order in which they can be made. Sends nothing. */
export function planImport(source: ImportSource, target: ImportTarget, options: PlanOptions): ImportItem[] {
  const names = { source: namesOf(source), here: namesOf(target) };
  return [
    ...planRecords('volume', source.volumes, target.volumes, (record) => ({
      body: moved(toVolumeBody(record), options),
      note: noteOfVolume(record, target, options),
    })),
    ...planNames('registry', source.registries, target.registries),
    ...planNames(
      'secret',
      source.secrets.map((name) => ({ id: '', name })),
      target.secrets,
    ),
    ...planRecords('template', source.templates, target.templates, (record) => {
      if (BOUND.test(record.name)) return { skip: 'it belongs to an endpoint, which brings its settings' };
      return { revision: source.revision, body: toTemplateBody(record) };
    }),
    ...planRecords('endpoint', source.endpoints, target.endpoints, (record) => {
      const { body, revision } = toEndpointBody(record);
      return { revision, ...withKnownPools(moved(body, options), target, options) };
    }),
  ].map((item) => compared(item, names, target));
}

/** How a record is to be made here, or why it cannot be. */
interface Wanted {
  body?: ImportBody;
  revision?: RestRevision;
  note?: string | null;
  skip?: string;
}
interface Paired<T extends Named> extends ImportItem {
  here: T | null;
}

/** Pairs records by name: the first of a name with the first one here, and so on, because names may repeat. */
function planRecords<T extends Named, Here extends Named>(
  kind: ImportKind,
  records: readonly T[],
  existing: readonly Here[],
  want: (record: T) => Wanted,
): Paired<Here>[] {
  const left = Map.groupBy(existing, ({ name }) => name);
  return records.map((record) => {
    const { body = null, revision = '2026-08', note = null, skip } = wantOrSkip(record, want);
    const here = skip === undefined ? (left.get(record.name)?.shift() ?? null) : null;
    const action = skip !== undefined ? 'SKIP' : here ? 'EXISTS' : 'CREATE';
    const hereId = here?.id ?? null;
    return { kind, name: record.name, sourceId: record.id, action, note: skip ?? note, hereId, body, revision, here };
  });
}

/** The other side may answer anything. */
function wantOrSkip<T>(record: T, want: (record: T) => Wanted): Wanted {
  try {
    const wanted = want(record);
    checkReferences(wanted.body ?? {});
    return wanted;
  } catch (error) {
    if (error instanceof TypeError) return { skip: 'it is not what REST v2 describes' };
    throw error;
  }
}

/** They are replaced while records are made, which one of another type must not end. */
function checkReferences({ registry, networkVolumes = [] }: References): void {
  const ids: unknown[] = [registry ?? '', ...networkVolumes.toSorted()]; // throws also for a value that is not a list
  if (ids.some((id) => typeof id !== 'string')) throw new TypeError('an id is text');
}

/** Plans records that are known by name only. */
function planNames(kind: ImportKind, records: readonly Named[], existing: readonly Named[]): Paired<Named>[] {
  const what = kind === 'secret' ? 'its value is not copied' : 'its credentials are not copied';
  return planRecords(kind, records, existing, () => ({ note: `${what}: it is asked for` }));
}

interface Places {
  dataCenter?: string;
  dataCenterIds?: string[];
}

function moved<Body extends Places>(body: Body, { dataCenter }: PlanOptions): Body {
  if (dataCenter === null) return body;
  return {
    ...body,
    ...(body.dataCenter !== undefined && { dataCenter }),
    ...(body.dataCenterIds !== undefined && body.dataCenterIds.length > 0 && { dataCenterIds: [dataCenter] }),
  };
}

function noteOfVolume(
  record: Schemas['NetworkVolume'],
  { dataCenters }: ImportTarget,
  { dataCenter }: PlanOptions,
): string {
  const place = dataCenter ?? record.dataCenter;
  const where = dataCenters.has(place) ? '' : `; nothing runs in ${place} here: see --data-center`;
  return `empty: its files are not copied${where}`;
}

function withKnownPools(body: EndpointBody['body'], target: ImportTarget, options: PlanOptions): Wanted {
  const places = body.dataCenterIds ?? [];
  const isNowhere = places.length > 0 && !places.some((id) => target.dataCenters.has(id));
  const note =
    isNowhere && options.dataCenter === null ? `nothing runs in ${places.join(', ')} here: see --data-center` : null;
  if (!body.gpu) return { body, note };
  const { pools, excludedTypes = [], ...others } = body.gpu;
  const [known, unknown] = split(pools, (pool) => target.pools.has(pool));
  const types = known.flatMap((pool) => target.pools.get(pool) ?? []);
  const [excluded, unknownTypes] = split(excludedTypes, (type) => types.includes(type));
  const missing = [
    ...(unknown.length > 0 ? [`GPU pool ${unknown.join(', ')}`] : []),
    ...(unknownTypes.length > 0 ? [`excluded GPU type ${unknownTypes.join(', ')}`] : []),
  ];
  const dropped = missing.length === 0 ? null : `this side has no ${missing.join(' and no ')}`;
  if (known.length === 0) return { skip: dropped! };
  const gpu = { pools: known, ...others, ...(excluded.length > 0 && { excludedTypes: excluded }) };
  return { body: { ...body, gpu }, note: [dropped, note].filter(Boolean).join('; ') || null };
}

function split(list: readonly string[], isKnown: (item: string) => boolean): [known: string[], unknown: string[]] {
  return [list.filter(isKnown), list.filter((item) => !isKnown(item))];
}

interface Names {
  volumes: Map<string, string>;
  registries: Map<string, string>;
}

function namesOf({ volumes, registries }: Pick<ImportSource, 'volumes' | 'registries'>): Names {
  const byId = (records: readonly Named[]) => new Map(records.map(({ id, name }) => [id, name]));
  return { volumes: byId(volumes), registries: byId(registries) };
}

/** Returns whether the record here has the same settings; ids are compared by the names of their records. */
function compared(
  { here, ...item }: Paired<Named>,
  names: { source: Names; here: Names },
  { newerEndpoints }: ImportTarget,
): ImportItem {
  if (here === null || item.body === null) return here === null ? item : { ...item, note: null };
  const wanted = byName(item.body, names.source);
  const inItsShape = item.revision === '2026-08' ? (newerEndpoints.get(here.id) ?? here) : here;
  const found = byName(bodyOf(item.kind, inItsShape), names.here);
  const fields = [...new Set([...Object.keys(wanted), ...Object.keys(found)])] as (keyof typeof wanted)[];
  const different = fields.filter((field) => !isDeepStrictEqual(wanted[field], found[field]));
  if (different.length === 0) return { ...item, note: null };
  return { ...item, action: 'DIFFERS', note: `${different.join(', ')}; the one here stays as it is` };
}

function bodyOf(kind: ImportKind, here: Named): ImportBody {
  if (kind === 'volume') return toVolumeBody(here);
  return kind === 'template' ? toTemplateBody(here) : toEndpointBody(here as SourceEndpoint).body;
}

function byName<Body extends References>(body: Body, { volumes, registries }: Names): Body {
  const { registry, networkVolumes } = body;
  return {
    ...body,
    ...(registry && { registry: registries.get(registry) ?? registry }),
    ...(networkVolumes && { networkVolumes: networkVolumes.map((id) => volumes.get(id) ?? id) }),
  };
}
