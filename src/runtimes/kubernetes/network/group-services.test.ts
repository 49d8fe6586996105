import { expect, test } from 'vitest';
import { ApiError, type ApiRequest } from '../api/api-server.ts';
import type { ClusterView } from '../pods/cluster-view.ts';
import { groupName } from '../pods/pod-record.ts';
import { GroupServices } from './group-services.ts';

const GROUP = { id: 'abcdefghijklmn', size: 3, ports: ['22/tcp', '80/http', '80/tcp'] };
const NAME = groupName(GROUP.id, 'inst');
const POLICY_PATH = '/apis/networking.k8s.io/v1/namespaces/work/networkpolicies';
const SERVICE_PATH = '/api/v1/namespaces/work/services';

/** The requests that were made, answered by `answer`. */
function openGroups(answer: (request: ApiRequest) => unknown = () => ({})) {
  const requests: ApiRequest[] = [];
  const json = async (request: ApiRequest) => {
    requests.push(request);
    return answer(request);
  };
  const path = (kind: string, name?: string) =>
    `/api/v1/namespaces/work/${kind}${name === undefined ? '' : `/${name}`}`;
  const cluster = { api: { json }, namespace: 'work', path } as unknown as ClusterView;
  return { groups: new GroupServices(async () => cluster, 'inst'), requests };
}

const refuse = (status: number) => () => {
  throw new ApiError(status, 'Because', 'it says no');
};

test('a group gets a policy that lets in itself and others at its ports, and then a headless Service', async () => {
  const { groups, requests } = openGroups();
  const network = await groups.ensure(GROUP);
  expect(network).toMatchObject({ cidr: null, primary: `rank-0.${NAME}.work.svc`, port: 29_500, interfaceName: null });
  expect(network.addressOf(1)).toBeNull();
  expect(requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
    `POST ${POLICY_PATH}`,
    `POST ${SERVICE_PATH}`,
  ]);
  const podSelector = { matchLabels: { 'podyard.dev/group': GROUP.id } };
  const ports = [22, 80].map((port) => ({ port, protocol: 'TCP' }));
  expect(requests[0]!.body).toMatchObject({
    metadata: { name: NAME, labels: { 'podyard.dev/installation': 'inst', 'podyard.dev/kind': 'group' } },
    spec: { podSelector, policyTypes: ['Ingress'], ingress: [{ from: [{ podSelector }] }, { ports }] },
  });
  expect(requests[1]!.body).toMatchObject({
    metadata: { name: NAME },
    spec: { clusterIP: 'None', publishNotReadyAddresses: true, selector: { 'podyard.dev/group': GROUP.id } },
  });
});

test('without ports, nobody else gets in', async () => {
  const { groups, requests } = openGroups();
  await groups.ensure({ ...GROUP, ports: [] });
  expect((requests[0]!.body as { spec: { ingress: object[] } }).spec.ingress).toHaveLength(1);
});

test('what exists is kept; a refused policy fails, and no Service is made', async () => {
  expect(await openGroups(refuse(409)).groups.ensure(GROUP)).toMatchObject({ port: 29_500 });
  const { groups, requests } = openGroups(refuse(403));
  await expect(groups.ensure(GROUP)).rejects.toThrow('it says no');
  expect(requests).toHaveLength(1);
});

test('both are removed, also where one is gone; another refusal is not hidden', async () => {
  const { groups, requests } = openGroups(refuse(404));
  await groups.remove(GROUP.id);
  expect(requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
    `DELETE ${SERVICE_PATH}/${NAME}`,
    `DELETE ${POLICY_PATH}/${NAME}`,
  ]);
  await expect(openGroups(refuse(403)).groups.remove(GROUP.id)).rejects.toThrow('it says no');
});

test('the groups of this installation are listed by their Services', async () => {
  const metadata = { name: NAME, labels: { 'podyard.dev/group': GROUP.id } };
  const { groups, requests } = openGroups(() => ({ items: [{ metadata }] }));
  expect(await groups.list()).toEqual([GROUP.id]);
  expect(requests[0]!.query).toEqual({ labelSelector: 'podyard.dev/installation=inst,podyard.dev/kind=group' });
});
