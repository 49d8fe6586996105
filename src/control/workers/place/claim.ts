import { newSecret } from '../../../core/ids.ts';
import { hashSecret } from '../../../domain/access/secret-hash.ts';
import { newWorkloadSecret } from '../../../domain/access/workload-keys.ts';
import type { CpuConfig } from '../../../domain/catalog/cpu-config.ts';

/** Where a worker may run; all null for a worker without a GPU. */
export type Place = {
  pool: string | null;
  gpuTypeId: string | null;
  dataCenterId: string | null;
  /** The driver's CUDA version, where the endpoint has a rule for it. */
  cudaVersion?: string;
  /** The CPUs of a CPU endpoint's worker. */
  cpu?: CpuConfig;
};

/** A place, and what the worker there is given to identify itself. The database has the hashes. */
export interface Claim {
  place: Place;
  token: string;
  tokenHash: Buffer;
  /** Its own key; null: the user's env has one. */
  apiKey: string | null;
  keyHash: Buffer | null;
  /** The user's SSH public keys. */
  publicKeys: Promise<string>;
}

/** Returns a claim on a place, with new secrets. */
export function newClaim(
  place: Place,
  { hasKey, publicKeys }: { hasKey: boolean; publicKeys: Promise<string> },
): Claim {
  publicKeys.catch(() => {}); // awaited once it has its place
  const token = newSecret('pyw');
  const key = hasKey ? null : newWorkloadSecret();
  const tokenHash = hashSecret(token);
  return { place, token, tokenHash, apiKey: key?.secret ?? null, keyHash: key?.hash ?? null, publicKeys };
}
