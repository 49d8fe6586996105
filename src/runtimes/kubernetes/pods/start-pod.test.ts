import { expect, test } from 'vitest';
import { Failure } from '../../../core/errors.ts';
import { NoCapacity } from '../../runtime.ts';
import { ApiError } from '../api/api-server.ts';
import { refusalOf } from './start-pod.ts';

const refused = (status: number, message: string) => refusalOf(new ApiError(status, 'Forbidden', message), 'inst');

test('a namespace whose quota is used up has no capacity', () => {
  const message = 'pods "podyard-w1" is forbidden: exceeded quota: gpus, requested: requests.nvidia.com/gpu=1';
  expect(refused(403, message)).toBeInstanceOf(NoCapacity);
});

test.each([
  ['a quota that wants a limit', 'pods "p" is forbidden: failed quota: mem: must specify limits.memory'],
  ['PodSecurity', 'pods "p" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true'],
  ['an admission webhook', 'admission webhook "validation.gatekeeper.sh" denied the request: no latest tags'],
])('what %s refuses is no shortage: another try would fail alike', (_, message) => {
  const failure = refused(403, message);
  expect(failure).not.toBeInstanceOf(NoCapacity);
  expect(failure).toMatchObject({ kind: 'unprocessable', message: `The cluster refused the pod: ${message}` });
});

test.each([
  [403, 'pods is forbidden: User "system:serviceaccount:a:b" cannot create resource "pods" in API group ""'],
  [403, 'pods "p" is forbidden: unable to create new content in namespace a because it is being terminated'],
  [404, 'namespaces "a" not found'],
])('missing rights and a missing namespace are not the workload’s fault (%i)', (status, message) => {
  expect(refused(status, message)).toMatchObject({ kind: 'unavailable' });
});

test('a failure of the API server stays what it is', () => {
  const failure = new Failure('unavailable', 'The Kubernetes API server failed: failed calling webhook');
  expect(refusalOf(failure, 'inst')).toBe(failure);
});
