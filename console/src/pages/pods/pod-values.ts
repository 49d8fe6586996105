import type { Schemas } from '../../api/client.ts';
import { CONTAINER_FIELDS, type ContainerValues, containerBody } from '../../ui/forms/container-values.ts';
import { type BodyExcept, type Fields, initialValues } from '../../ui/forms/fields.ts';

type Body = Schemas['CreatePodRequest'];

/** The form fills templates in itself, and writes `entrypoint` and `cmd` as arguments. The others are set by other clients only. */
type LeftOut = 'templateId' | 'entrypoint' | 'cmd' | 'cloud' | 'dataCenterIds' | 'globalNetworking';
type LeftOutOfGpu = 'allowedCudaVersions' | 'minCudaVersion' | 'minRamPerGpu' | 'minVcpuCountPerGpu';

/** The values that pods and clusters share. */
export interface SharedValues {
  gpu: BodyExcept<NonNullable<Body['gpu']>, LeftOutOfGpu>;
  startSsh: boolean;
  startJupyter: boolean;
  /** `sizeGb` is for persistent storage, `volumeId` for a network volume. */
  mount: { kind: 'none' | 'persistent' | 'network'; sizeGb: number; volumeId: string; path: string };
}

export interface PodValues
  extends BodyExcept<Body, LeftOut | 'env' | 'gpu' | 'cpu' | 'mounts'>,
    SharedValues,
    ContainerValues {
  /** `gpu` or `cpu` counts. */
  hardware: 'gpu' | 'cpu';
  cpu: NonNullable<Body['cpu']>;
}

export const SHARED_FIELDS: Fields<SharedValues> = {
  'gpu.id': { label: 'GPU', initial: '', isRequired: true },
  'gpu.count': { label: 'GPU count', initial: 1, min: 1 },
  startSsh: {
    label: 'Start SSH',
    help: 'Passes your SSH keys as PUBLIC_KEY and publishes port 22. The image must start an SSH server.',
    initial: false,
  },
  startJupyter: {
    label: 'Start Jupyter',
    help: 'Passes a password as JUPYTER_PASSWORD and exposes port 8888. The image must start Jupyter.',
    initial: false,
  },
  'mount.kind': {
    label: 'Storage',
    initial: 'none',
    choices: { none: 'None', persistent: 'Persistent', network: 'Network volume' },
  },
  'mount.sizeGb': { label: 'Size', initial: 20, unit: 'GB', min: 10 },
  'mount.volumeId': { label: 'Network volume', initial: '' },
  'mount.path': { label: 'Mount path', initial: '/workspace' },
};

export const POD_FIELDS: Fields<PodValues> = {
  name: { label: 'Name', initial: '', isRequired: true },
  ...CONTAINER_FIELDS,
  ports: { ...CONTAINER_FIELDS.ports, help: 'For example 8888/http or 22/tcp. Each HTTP port gets its own URL.' },
  hardware: { label: 'Hardware', initial: 'gpu', choices: { gpu: 'GPU', cpu: 'CPU' } },
  'cpu.id': { label: 'CPU', initial: '', isRequired: true },
  'cpu.vcpuCount': { label: 'vCPUs', initial: 2 },
  ...SHARED_FIELDS,
};

export const NEW_POD = initialValues<PodValues>(POD_FIELDS);

const SSH_PORT = '22/tcp';
const JUPYTER_PORT = '8888/http';

/** Adds the ports that images serve SSH and Jupyter on. */
export function portsWith(ports: readonly string[], { startSsh, startJupyter }: SharedValues): string[] {
  return [...new Set([...ports, ...(startSsh ? [SSH_PORT] : []), ...(startJupyter ? [JUPYTER_PORT] : [])])];
}

/**
 * Returns the body that creates a pod; only the chosen hardware and storage are in it. SSH and Jupyter add their ports, and the
 * port of SSH is as good as its box.
 */
export function podBody(values: PodValues): Body {
  const { hardware, gpu, cpu, mount, ...same } = values;
  const ports = portsWith(values.ports, values);
  return {
    ...same,
    ...containerBody(values),
    ports,
    startSsh: ports.includes(SSH_PORT),
    mounts: mountsBody(mount),
    ...(hardware === 'gpu' ? { gpu } : { cpu }),
  };
}

/** Returns the storage that was chosen, as it is in a body. */
export function mountsBody({ kind, sizeGb, volumeId, path }: SharedValues['mount']): NonNullable<Body['mounts']> {
  switch (kind) {
    case 'none':
      return {};
    case 'persistent':
      return { persistent: { size: sizeGb, path } };
    case 'network':
      return { network: [{ volumeId, path }] };
  }
}
