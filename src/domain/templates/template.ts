import type { EndpointId, TemplateId, UserId } from '../../core/ids.ts';
import type { ContainerConfig } from '../endpoints/endpoint.ts';

export type TemplateCategory = 'CPU' | 'NVIDIA' | 'AMD';

/** Persistent storage on the pod's machine, mounted at a path. */
export interface PersistentMount {
  sizeGb: number;
  path: string;
}

/** Settings that GraphQL clients store with a template. Nothing acts on them; an absent one was never given. */
export interface TemplateClientSettings {
  readme?: string;
  startSsh?: boolean;
  startJupyter?: boolean;
  startScript?: string;
  advancedStart?: boolean;
  /** The order of the names in the given `env` list, which the stored object does not keep. */
  envNames?: string[];
  /** Any JSON. */
  config?: unknown;
  portsConfig?: { port?: unknown; name?: string }[];
  /** The given path; a mount's own path takes precedence. */
  volumeMountPath?: string;
}

/**
 * A snapshot of settings: what is made from it copies it, and does not follow when it changes (docs/interface/rest.md,
 * "Templates").
 */
export interface Template extends ContainerConfig {
  id: TemplateId;
  userId: UserId;
  name: string;
  persistentMount: PersistentMount | null;
  isServerless: boolean;
  /** Other users may make something from it, but neither list, change nor delete it. */
  isPublic: boolean;
  category: TemplateCategory;
  clientSettings: TemplateClientSettings;
  /** The endpoint that it was given inline for, and with which it is deleted; null for any other. */
  endpointId: EndpointId | null;
  createdAt: Date;
}
