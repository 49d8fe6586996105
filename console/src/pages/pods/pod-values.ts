import type { Schemas } from '../../api/client.ts';
import {
  CONTAINER_FIELDS,
  type ContainerValues,
  containerBody,
  NEW_CONTAINER,
} from '../../ui/forms/container-values.ts';

export interface PodValues extends ContainerValues {
  name: string;
  hardware: 'gpu' | 'cpu';
  gpu: { id: string; count: number };
  cpu: { id: string; vcpuCount: number };
  start: { ssh: boolean; jupyter: boolean };
  /** `sizeGb` is for persistent storage, `volumeId` for a network volume. */
  mount: { kind: 'none' | 'persistent' | 'network'; sizeGb: number; volumeId: string; path: string };
}

export const NEW_POD: PodValues = {
  name: '',
  ...NEW_CONTAINER,
  hardware: 'gpu',
  gpu: { id: '', count: 1 },
  cpu: { id: '', vcpuCount: 2 },
  start: { ssh: false, jupyter: false },
  mount: { kind: 'none', sizeGb: 20, volumeId: '', path: '/workspace' },
};

/** Fields that the server may name in an error; all errors of a mount appear at its path. */
export const POD_FIELDS = ['name', ...CONTAINER_FIELDS, 'gpu.id', 'gpu.count', 'cpu.id', 'cpu.vcpuCount', 'mounts'];

const SSH_PORT = '22/tcp';
const JUPYTER_PORT = '8888/http';

/**
 * Returns the body that creates a pod; only the chosen hardware and storage are in it. SSH and Jupyter add
 * the ports that images serve them on, and the port of SSH is as good as its box.
 */
export function podBody(values: PodValues): Schemas['CreatePodRequest'] {
  const { name, hardware, gpu, cpu, mount, start } = values;
  const container = containerBody(values);
  const added = [...(start.ssh ? [SSH_PORT] : []), ...(start.jupyter ? [JUPYTER_PORT] : [])];
  const ports = [...new Set([...container.ports, ...added])];
  return {
    name,
    ...container,
    ports,
    startSsh: ports.includes(SSH_PORT),
    startJupyter: start.jupyter,
    mounts: mountsBody(mount),
    ...(hardware === 'gpu' ? { gpu } : { cpu }),
  };
}

/** Returns the storage that was chosen, as it is in a body. */
export function mountsBody({ kind, sizeGb, volumeId, path }: PodValues['mount']) {
  switch (kind) {
    case 'none':
      return {};
    case 'persistent':
      return { persistent: { size: sizeGb, path } };
    case 'network':
      return { network: [{ volumeId, path }] };
  }
}
