import type { KubeObject } from './kube-client.ts';

export interface FakeNode {
  cpus?: number;
  memory?: string;
  gpus?: number;
  pods?: number;
  /** The address of its kubelet; by default that of the real one. */
  kubeletPort?: number;
  labels?: Record<string, string>;
  taints?: { key: string; value?: string; effect: 'NoSchedule' | 'NoExecute' }[];
}

/** Returns the object of a fake node. */
export function fakeNode(
  name: string,
  { cpus = 64, memory = '512Gi', gpus = 0, pods = 110, kubeletPort, labels, taints }: FakeNode,
): KubeObject {
  const own = {
    'kubernetes.io/hostname': name,
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': 'amd64',
    fake: 'true',
  };
  const resources = {
    cpu: String(cpus),
    memory,
    pods: String(pods),
    'ephemeral-storage': '1Ti',
    ...(gpus > 0 ? { 'nvidia.com/gpu': String(gpus) } : {}),
  };
  return {
    metadata: { name, labels: { ...own, ...labels } },
    spec: { taints: taints ?? [] },
    status: {
      capacity: resources,
      allocatable: resources,
      addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
      conditions: [readyCondition('True')],
      ...(kubeletPort && { daemonEndpoints: { kubeletEndpoint: { Port: kubeletPort } } }),
    },
  };
}

export function readyCondition(status: string): object {
  const now = new Date().toISOString().replace(/\.\d+/, '');
  return { type: 'Ready', status, reason: 'Fake', lastHeartbeatTime: now, lastTransitionTime: now };
}
