import { Failure } from '../../core/errors.ts';
import type { ContainerConfig } from '../endpoints/endpoint.ts';
import { findImageRefusal } from '../images/registry-policy.ts';

/** Bytes of one value; the kernel's limit is 128 KiB, name included. */
export const MAX_ENV_VALUE_BYTES = 64 * 1024;
export const MAX_ENV_NAMES = 500;
/** Bytes of all names and values. */
export const MAX_ENV_BYTES = 512 * 1024;

/** Checks the given fields: an image reference and the limits of env. Throws `unprocessable` with every error and its place. */
export function checkContainer({ image, env }: Partial<Pick<ContainerConfig, 'image' | 'env'>>): void {
  const imageFault = image === undefined ? null : findImageRefusal(image);
  const errors = imageFault === null ? [] : [`/image: ${imageFault}`];
  if (env !== undefined) errors.push(...envFaults(env));
  if (errors.length > 0) throw new Failure('unprocessable', 'Request validation failed.', { errors });
}

function envFaults(env: Readonly<Record<string, string>>): string[] {
  const entries = Object.entries(env);
  if (entries.length > MAX_ENV_NAMES) {
    return [`/env: ${entries.length} variables, but at most ${MAX_ENV_NAMES} are allowed`];
  }
  let total = 0;
  const faults: string[] = [];
  for (const [name, value] of entries) {
    const bytes = Buffer.byteLength(value);
    total += Buffer.byteLength(name) + bytes;
    if (bytes > MAX_ENV_VALUE_BYTES) {
      faults.push(`/env/${name}: the value has ${bytes} bytes, but at most ${MAX_ENV_VALUE_BYTES} are allowed`);
    }
  }
  if (total > MAX_ENV_BYTES) {
    faults.push(`/env: names and values have ${total} bytes, but at most ${MAX_ENV_BYTES} are allowed`);
  }
  return faults;
}
