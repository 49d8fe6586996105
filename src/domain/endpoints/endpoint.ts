import type { EndpointId, UserId } from '../../core/ids.ts';
import type { CpuConfig } from '../catalog/cpu-config.ts';
import type { ModelUse } from '../models/pinned-model.ts';

export type { CpuConfig } from '../catalog/cpu-config.ts';

export type EndpointType = 'QUEUE_BASED' | 'LOAD_BALANCING';
export type ScalerType = 'QUEUE_DELAY' | 'REQUEST_COUNT';
export type FlashBoot = 'OFF' | 'FLASHBOOT' | 'PRIORITY_FLASHBOOT';

/** The container block that templates, pods and endpoints share (docs/interface/rest.md, "Container settings"). */
export interface ContainerConfig {
  image: string;
  args: string;
  diskGb: number;
  ports: string[];
  env: Record<string, string>;
  registryId: string | null;
}

/**
 * The defaults of a create where neither the request nor a template has a value (docs/interface/rest.md, "Serverless
 * endpoints"). The image has none.
 */
export const CONTAINER_DEFAULTS: Omit<ContainerConfig, 'image'> = {
  args: '',
  diskGb: 20,
  ports: [],
  env: {},
  registryId: null,
};

/** Which GPUs of its pools an endpoint may get (gpu-rule.ts). An absent member excludes nothing; none is empty. */
export interface GpuRule {
  /** GPU types that its workers never get. */
  excludedTypes?: string[];
  /** The driver supports exactly one of these versions. */
  allowedCudaVersions?: string[];
  /** The driver supports this version or a newer one. */
  minCudaVersion?: string;
}

export interface GpuConfig extends GpuRule {
  pools: string[];
  /** GPUs per worker. */
  count: number;
}

export interface Endpoint extends ContainerConfig {
  id: EndpointId;
  userId: UserId;
  name: string;
  type: EndpointType;
  /** Exactly one of `gpu` and `cpu` is set; which one is fixed at creation. */
  gpu: GpuConfig | null;
  /** Each worker gets one of them: the first in the list for which there is capacity. */
  cpu: CpuConfig[] | null;
  workers: { min: number; max: number };
  scaling: { type: ScalerType; value: number; idleTimeoutSeconds: number };
  dataCenterIds: string[];
  networkVolumeIds: string[];
  /** Per request; 0 means no limit. */
  timeoutMs: number;
  flashboot: FlashBoot;
  templateId: string | null;
  /** Its models as a client named them: shown as they were sent. */
  modelReferences: string[];
  /** The models, as they were resolved when they were set. At most 20. */
  models: readonly ModelUse[];
  /** Version of the newest release. */
  version: number;
  createdAt: Date;
}

/** The fields that a release fixes: a change of any of these makes a new one (docs/interface/rest.md, "Effects of an update"). */
export interface ReleaseSpec extends ContainerConfig {
  gpu: GpuConfig | null;
  cpu: CpuConfig[] | null;
  networkVolumeIds: string[];
  /** Models that a machine fetches before it starts a worker, each with its commit. */
  models: readonly ModelUse[];
}
