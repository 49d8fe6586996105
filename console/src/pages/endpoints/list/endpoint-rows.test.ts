import { expect, test } from 'vitest';
import type { AccountSnapshot } from '../../../api/live-snapshots.ts';
import type { Endpoint } from '../settings/endpoint-values.ts';
import {
  countStates,
  DEFAULT_SORT,
  type EndpointFigures,
  filterRows,
  type KnownFigures,
  missingIds,
  nextSort,
  sortRows,
  toRows,
} from './endpoint-rows.ts';

const endpoint = (id: string, more: object = {}) =>
  ({ id, name: id, type: 'QUEUE', image: 'a:1', ...more }) as Endpoint;
const figures = (id: string, more: Partial<EndpointFigures> = {}): EndpointFigures => ({
  ...{ id, state: 'HEALTHY', since: null, reason: null, warnings: [], workers: 3, waiting: 2, running: 1 },
  ...{ requests: 10, failed: 0, requestsPerSecond: 1, latencyP95Ms: 5, costToday: 1 },
  ...more,
});
const live = (...ids: string[]): AccountSnapshot =>
  ({
    active: ids.map((id) => ({
      id,
      state: { state: 'FAILING', since: null, reason: 'x' },
      inQueue: 7,
      inProgress: 8,
      workers: { total: 9 },
    })),
  }) as unknown as AccountSnapshot;
const byId = (...list: EndpointFigures[]) => new Map(list.map((one) => [one.id, one]));
const rows = (known: Partial<KnownFigures>, ...endpoints: Endpoint[]) =>
  toRows(endpoints, { all: undefined, shown: new Map(), live: undefined, ...known });

test('until figures are read, the state of an endpoint is unknown; those left out of them are at rest', () => {
  expect(rows({}, endpoint('a'))[0]!.state).toBeUndefined();
  expect(rows({ all: byId() }, endpoint('a'))[0]).toMatchObject({ state: { state: 'SCALED_TO_ZERO' }, workers: 0 });
});

test('the stream counts first, then the figures on the screen, then those of all', () => {
  const all = byId(figures('a'), figures('b'), figures('c'));
  const shown = byId(figures('b', { waiting: 5, state: 'STARTING' }));
  const list = rows({ all, shown }, endpoint('a'), endpoint('b'), endpoint('c'));
  expect(list.map(({ waiting }) => waiting)).toEqual([2, 5, 2]);
  const [a, b] = rows({ all, shown, live: live('a') }, endpoint('a'), endpoint('b'));
  expect(a).toMatchObject({ state: { state: 'FAILING' }, workers: 9, waiting: 7, running: 8 });
  expect(b).toMatchObject({ state: { state: 'STARTING' }, workers: 0, waiting: 0 }); // it has no work any more
});

test('with as many active endpoints as the stream has room for, others keep what was read', () => {
  const many = Array.from({ length: 100 }, (_, i) => `x${i}`);
  expect(rows({ all: byId(figures('a')), live: live(...many) }, endpoint('a'))[0]).toMatchObject({ workers: 3 });
});

test('rows are narrowed by text, state, kind and image together', () => {
  const list = rows(
    { all: byId(figures('api', { state: 'FAILING' })) },
    endpoint('api', { image: 'web:2', type: 'LOAD_BALANCER' }),
    endpoint('batch'),
  );
  const ids = (filter: object) =>
    filterRows(list, { search: '', state: '', kind: '', image: '', ...filter }).map((row) => row.endpoint.id);
  expect(ids({})).toEqual(['api', 'batch']);
  expect(ids({ search: 'WEB' })).toEqual(['api']);
  expect(ids({ state: 'FAILING' })).toEqual(['api']);
  expect(ids({ state: 'SCALED_TO_ZERO', kind: 'QUEUE' })).toEqual(['batch']);
  expect(ids({ kind: 'LOAD_BALANCER', image: 'a:1' })).toEqual([]);
});

test('by default what needs attention comes first, and the rest keeps its order', () => {
  const all = byId(figures('b'), figures('c', { state: 'WAITING_FOR_CAPACITY' }), figures('d', { state: 'FAILING' }));
  const list = rows({ all }, ...['a', 'b', 'c', 'd'].map((id) => endpoint(id)));
  expect(sortRows(list, DEFAULT_SORT).map((row) => row.endpoint.id)).toEqual(['d', 'c', 'a', 'b']);
  expect(countStates(list)).toEqual([
    { state: 'FAILING', count: 1 },
    { state: 'WAITING_FOR_CAPACITY', count: 1 },
    { state: 'HEALTHY', count: 1 },
    { state: 'SCALED_TO_ZERO', count: 1 },
  ]);
});

test('figures are sorted from the largest, endpoints without one last', () => {
  const all = byId(figures('a', { latencyP95Ms: null }), figures('b', { costToday: 3 }), figures('c'));
  const list = rows({ all }, ...['a', 'b', 'c'].map((id) => endpoint(id)));
  const sorted = (key: string) => sortRows(list, nextSort(DEFAULT_SORT, key)).map((row) => row.endpoint.id);
  expect(sorted('cost')).toEqual(['b', 'a', 'c']);
  expect(sorted('latency')).toEqual(['b', 'c', 'a']);
  expect(sorted('name')).toEqual(['a', 'b', 'c']);
  expect(nextSort({ key: 'cost', isDescending: true }, 'cost').isDescending).toBe(false);
});

test('unknown and outdated ids are asked for, at most a hundred', () => {
  const known = new Map([
    ['a', '1'],
    ['b', '2'],
  ]);
  expect(missingIds(['a', 'b', 'c'], known, () => '2')).toEqual(['a', 'c']);
  const many = Array.from({ length: 150 }, (_, i) => `e${i}`);
  expect(missingIds(many, known, () => '2')).toEqual(many.slice(0, 100));
});
