import type { EndpointId, UserId } from '../../core/ids.ts';

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
 * What a create fills in where neither the request nor a template says anything (docs/interface/rest.md, "Serverless
 * endpoints"). The image has none.
 */
export const CONTAINER_DEFAULTS: Omit<ContainerConfig, 'image'> = {
  args: '',
  diskGb: 20,
  ports: [],
  env: {},
  registryId: null,
};

export interface GpuConfig {
  pools: string[];
  count: number;
}

export interface CpuConfig {
  id: string;
  vcpuCount: number;
  memory: number;
}

/** Which GPUs of its pools an endpoint may get, as clients give it (gpu-rule.ts). An absent one was never given. */
export interface EndpointClientSettings {
  /** Comma-separated. */
  allowedCudaVersions?: string;
  minCudaVersion?: string;
  /** GPU types to exclude from the pools. */
  excludedGpuTypeIds?: string[];
}

export interface Endpoint extends ContainerConfig {
  id: EndpointId;
  userId: UserId;
  name: string;
  type: EndpointType;
  gpu: GpuConfig | null;
  cpu: CpuConfig | null;
  workers: { min: number; max: number };
  scaling: { type: ScalerType; value: number; idleTimeoutSeconds: number };
  dataCenterIds: string[];
  networkVolumeIds: string[];
  /** Per request; 0 means no limit. */
  timeoutMs: number;
  flashboot: FlashBoot;
  templateId: string | null;
  clientSettings: EndpointClientSettings;
  /** Version of the newest release. */
  version: number;
  createdAt: Date;
}

/** What a release fixes: a change of any of these makes a new one (docs/interface/rest.md, "Effects of an update"). */
export interface ReleaseSpec extends ContainerConfig {
  gpu: GpuConfig | null;
  cpu: CpuConfig | null;
  networkVolumeIds: string[];
}
