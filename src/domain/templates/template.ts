import type { TemplateId, UserId } from '../../core/ids.ts';
import type { ContainerConfig } from '../endpoints/endpoint.ts';

export type TemplateCategory = 'CPU' | 'NVIDIA' | 'AMD';

/** A host-local mount that a pod made from the template gets. */
export interface PersistentMount {
  sizeGb: number;
  path: string;
}

/** A snapshot of settings: what is made from it copies it, and does not follow when it changes (rest.md section 5). */
export interface Template extends ContainerConfig {
  id: TemplateId;
  userId: UserId;
  name: string;
  persistentMount: PersistentMount | null;
  isServerless: boolean;
  /** Others may make something from it, but neither list, nor change, nor delete it. */
  isPublic: boolean;
  category: TemplateCategory;
}
