import type { ImageIdentity } from '../domain/images/image-identity.ts';

export interface RegistryAuth {
  username: string;
  password: string;
}

/** How `Runtime.prepare` makes an image present. */
export interface PrepareOptions {
  auth?: RegistryAuth;
  onProgress?: OnProgress;
  /** Makes exactly this present, whatever the name stands for by now. */
  pinned?: ImageIdentity;
  /**
   * Resolves the name again: as it stands on the machine, which pulls it only if it lacks it; or as it stands in the registry that the
   * machine's image came from. With `pinned`, which is the answer if the name still stands for it.
   */
  resolve?: 'here' | 'in registry';
}

/** An image that workers may soon need, and where they may run. */
export interface AheadImage {
  image: string;
  /** As of `WorkloadSpec`. */
  registry: { id: string; auth: RegistryAuth } | null;
  /** Empty: they have no GPUs. */
  gpuPools: readonly string[];
  /** Empty: anywhere. */
  dataCenterIds: readonly string[];
}

/** Receives lines about the progress of a start; they become `system` log lines. */
export type OnProgress = (line: string) => void;
