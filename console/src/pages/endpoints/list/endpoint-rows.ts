/** The rows of the list of endpoints: settings, state and figures of each, filtered and sorted. */
import type { Schemas } from '../../../api/client.ts';
import type { AccountSnapshot, EndpointState } from '../../../api/live-snapshots.ts';
import { findRecords, type Sort, type SortValue, sortRecords } from '../../../ui/tables/select-records.ts';
import { ENDPOINT_STATES, type StateName } from '../endpoint-states.ts';
import type { Endpoint } from '../settings/endpoint-values.ts';

export type EndpointFigures = Schemas['EndpointFigures'];

export interface EndpointRow {
  endpoint: Endpoint;
  /** Undefined until it is known. */
  state: EndpointState | undefined;
  workers: number;
  waiting: number;
  running: number;
  figures: EndpointFigures | undefined;
}

/** Figures and states, as far as they are known. */
export interface KnownFigures {
  /** All endpoints that are not at rest; undefined until they are read. */
  all: ReadonlyMap<string, EndpointFigures> | undefined;
  /** The endpoints on the screen, with their course over the last hour. */
  shown: ReadonlyMap<string, EndpointFigures>;
  live: AccountSnapshot | undefined;
}

/** The stream has at most so many active endpoints; with fewer, all others do nothing. */
export const MAX_ACTIVE = 100;
const AT_REST: EndpointState = { state: 'SCALED_TO_ZERO', since: null, reason: null, warnings: [] };

/** Returns a row for each endpoint. What the stream says counts first, then what was read last. */
export function toRows(endpoints: readonly Endpoint[], { all, shown, live }: KnownFigures): EndpointRow[] {
  const active = new Map(live?.active.map((entry) => [entry.id, entry]));
  const hasAllActive = live !== undefined && active.size < MAX_ACTIVE;
  return endpoints.map((endpoint) => {
    const { id } = endpoint;
    const figures = shown.get(id) ?? all?.get(id);
    const now = active.get(id);
    const read = figures ?? (all && AT_REST);
    if (now) {
      const { state, workers, inQueue, inProgress } = now;
      return { endpoint, state, workers: workers.total, waiting: inQueue, running: inProgress, figures };
    }
    if (hasAllActive) return { endpoint, state: read, workers: 0, waiting: 0, running: 0, figures };
    const { workers = 0, waiting = 0, running = 0 } = figures ?? {};
    return { endpoint, state: read, workers, waiting, running, figures };
  });
}

/** The filter of the list; an empty text matches everything. */
export interface EndpointFilter {
  search: string;
  state: string;
  kind: string;
  image: string;
}

export function filterRows(rows: readonly EndpointRow[], filter: EndpointFilter): readonly EndpointRow[] {
  const { search, state, kind, image } = filter;
  const found = findRecords(rows, search, ({ endpoint: { id, name, image: its } }) => `${id} ${name} ${its}`);
  if (state === '' && kind === '' && image === '') return found;
  return found.filter(
    (row) =>
      (state === '' || row.state?.state === state) &&
      (kind === '' || row.endpoint.type === kind) &&
      (image === '' || row.endpoint.image === image),
  );
}

const SEVERITY = Object.keys(ENDPOINT_STATES) as StateName[];
/** States that the default order puts first. */
const NEEDS_ATTENTION = 2;

const SORT_VALUES: Record<string, (row: EndpointRow) => SortValue> = {
  attention: ({ state }) => Math.min(NEEDS_ATTENTION, state ? SEVERITY.indexOf(state.state) : NEEDS_ATTENTION),
  name: ({ endpoint }) => endpoint.name,
  state: ({ state }) => (state ? SEVERITY.indexOf(state.state) : null),
  requests: ({ figures }) => figures?.requests ?? 0,
  latency: ({ figures }) => figures?.latencyP95Ms ?? null,
  workers: ({ workers }) => workers,
  waiting: ({ waiting }) => waiting,
  cost: ({ figures }) => figures?.costToday ?? 0,
};
export const SORT_KEYS = Object.keys(SORT_VALUES);

/** By default, endpoints that need attention come first; the others stay in the order in which they were made. */
export const DEFAULT_SORT: Sort = { key: 'attention', isDescending: false };

/** Returns the sort after a click on a column: figures begin with the largest, texts with A. */
export function nextSort(current: Sort, key: string): Sort {
  if (current.key === key) return { key, isDescending: !current.isDescending };
  return { key, isDescending: key !== 'name' && key !== 'state' };
}

export function sortRows(rows: readonly EndpointRow[], { key, isDescending }: Sort): readonly EndpointRow[] {
  return sortRecords(rows, SORT_VALUES[key]!, isDescending);
}

/** Returns how many rows have each state, those that need a person first. */
export function countStates(rows: readonly EndpointRow[]): { state: StateName; count: number }[] {
  const counts = new Map<string, number>();
  for (const { state } of rows) if (state) counts.set(state.state, (counts.get(state.state) ?? 0) + 1);
  return SEVERITY.flatMap((state) => ({ state, count: counts.get(state) ?? 0 })).filter(({ count }) => count > 0);
}

/** As many as the server answers at once. */
const MAX_IDS = 100;

/** Returns the ids whose known version is not the current one, at most as many as can be asked for. */
export function missingIds(
  ids: readonly string[],
  known: ReadonlyMap<string, string>,
  versionOf: (id: string) => string,
): readonly string[] {
  return ids.filter((id) => known.get(id) !== versionOf(id)).slice(0, MAX_IDS);
}
