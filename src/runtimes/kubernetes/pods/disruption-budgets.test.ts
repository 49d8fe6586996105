import { expect, test } from 'vitest';
import { ApiError, type ApiRequest } from '../api/api-server.ts';
import type { ClusterView } from './cluster-view.ts';
import { DisruptionBudgets } from './disruption-budgets.ts';

const PATH = '/apis/policy/v1/namespaces/work/poddisruptionbudgets';

/** The requests that were made, answered by `answer`. */
function open(answer: (request: ApiRequest) => unknown = () => ({})) {
  const requests: ApiRequest[] = [];
  const json = async (request: ApiRequest) => {
    requests.push(request);
    return answer(request);
  };
  const cluster = { api: { json }, namespace: 'work' } as unknown as ClusterView;
  return { budgets: new DisruptionBudgets(async () => cluster, 'inst'), requests };
}

const refuse = (status: number) => () => {
  throw new ApiError(status, 'Because', 'it says no');
};

test('an endpoint is guarded by one budget over the label of its workers, applied so that it may be there already', async () => {
  const { budgets, requests } = open();
  await budgets.keep('endpoint1', 2);
  expect(requests).toMatchObject([
    {
      method: 'PATCH',
      path: `${PATH}/podyard-endpoint1`,
      query: { fieldManager: 'podyard', force: true },
      body: {
        kind: 'PodDisruptionBudget',
        spec: { minAvailable: 2, selector: { matchLabels: { 'podyard.dev/endpoint': 'endpoint1' } } },
      },
    },
  ]);
});

test('the budgets of this installation are listed', async () => {
  const metadata = { name: 'podyard-endpoint1', labels: { 'podyard.dev/endpoint': 'endpoint1' } };
  const { budgets, requests } = open(() => ({ items: [{ metadata, spec: { minAvailable: 3 } }] }));
  expect(await budgets.list()).toEqual(new Map([['endpoint1', 3]]));
  expect(requests[0]!.query).toEqual({
    labelSelector: 'podyard.dev/installation=inst,podyard.dev/kind=disruption-budget',
  });
});

test.each([403, 404])('a cluster that answers %s has none', async (status) => {
  expect(await open(refuse(status)).budgets.list()).toBeNull();
});

test('releasing is idempotent; another refusal is not hidden', async () => {
  await open(refuse(404)).budgets.release('endpoint1');
  await expect(open(refuse(500)).budgets.release('endpoint1')).rejects.toThrow('it says no');
});
