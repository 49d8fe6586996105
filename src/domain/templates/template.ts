import type { EndpointId, TemplateId, UserId } from '../../core/ids.ts';
import type { ContainerConfig } from '../endpoints/endpoint.ts';

export type TemplateCategory = 'CPU' | 'NVIDIA' | 'AMD';

/** A host-local mount that a pod made from the template gets. */
export interface PersistentMount {
  sizeGb: number;
  path: string;
}

/** What clients of the GraphQL interface keep with a template. Nothing acts upon it; an absent one was never given. */
export interface TemplateClientSettings {
  readme?: string;
  startSsh?: boolean;
  startJupyter?: boolean;
  startScript?: string;
  advancedStart?: boolean;
  /** The order of `env`'s names in the list that was given: a map keeps none. */
  envNames?: string[];
  /** Any JSON. */
  config?: unknown;
  portsConfig?: { port?: unknown; name?: string }[];
  /** The path that was given; the mount's own wins while there is a mount. */
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
  /** Others may make something from it, but neither list, nor change, nor delete it. */
  isPublic: boolean;
  category: TemplateCategory;
  clientSettings: TemplateClientSettings;
  /** The endpoint that it was given inside of, and that it goes with; null for one that stands for itself. */
  endpointId: EndpointId | null;
  createdAt: Date;
}
